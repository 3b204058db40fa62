import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseYaml } from '../../lib/kube/yaml.ts';
import { UsageError } from '../../lib/run/flags.ts';
import { chartDefaults } from '../model/chart-values.ts';
import { parseChartValues, parseSet, readChartValues } from './chart-values.ts';

describe('values of the chart', () => {
  let dir = '';
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'isthmus-values-'));
  });
  after(() => rmSync(dir, { recursive: true }));
  const file = (name: string, content: string): string => {
    const path = join(dir, name);
    writeFileSync(path, content);
    return path;
  };

  it('have the defaults of the chart', () => {
    const chart = readFileSync(join(import.meta.dirname, '../../charts/isthmus/values.yaml'), 'utf8');
    const whole = parseChartValues(parseYaml(chart) as Record<string, unknown>);
    assert.deepEqual(whole, parseChartValues({}));
    assert.deepEqual(whole, chartDefaults);
  });

  it('files in order, then single values; mappings by key, null takes away', async () => {
    const first = file(
      'a.yaml',
      'networking: { podCIDR: 10.20.0.0/16, mtu: 1400 }\novn: { central: { nodeSelector: { db: "true" } } }\n',
    );
    const second = file(
      'b.yaml',
      'networking: { mtu: 1300 }\novn: { central: { nodeSelector: { node-role.kubernetes.io/control-plane: null } } }\n',
    );
    const values = await readChartValues(
      [first, second, file('empty.yaml', '')],
      ['hub.enabled=true', 'networking.mtu=1200'],
    );
    assert.deepEqual(
      [values.networking.podCIDR, values.networking.mtu, values.hub.enabled],
      ['10.20.0.0/16', 1200, true],
    );
    assert.deepEqual(values.ovn.central.nodeSelector, { db: 'true' });
    const one = await readChartValues([first], []);
    assert.deepEqual(one.ovn.central.nodeSelector, { 'node-role.kubernetes.io/control-plane': '', db: 'true' });
  });

  it('single values as helm reads them', async () => {
    assert.deepEqual(parseSet('a.b\\.c=x'), { a: { 'b.c': 'x' } });
    assert.deepEqual(parseSet('a=null'), { a: null });
    assert.deepEqual(parseSet('a=007'), { a: '007' });
    // In the form in which the flag splits them at commas.
    const values = await readChartValues(
      [],
      ['networking.podCIDR=10.16.0.0/16\\', 'fd00:10:16::/112', 'hub.port=7000'],
    );
    assert.deepEqual([values.networking.podCIDR, values.hub.port], ['10.16.0.0/16,fd00:10:16::/112', 7000]);
  });

  it('that the chart does not accept are refused', async () => {
    const refused = (message: RegExp) => (error: unknown) => error instanceof UsageError && message.test(error.message);
    assert.throws(() => parseChartValues({ networking: { podCIDR: '10.16.0.0' } }), refused(/podCIDR/));
    assert.throws(() => parseChartValues({ networking: { podCIDR: '10.16.0.0/16,10.17.0.0/16' } }), refused(/podCIDR/));
    assert.throws(() => parseChartValues({ networking: { podCidr: '10.16.0.0/16' } }), refused(/podCidr/));
    assert.throws(() => parseChartValues({ networking: { datapathType: 'kernel' } }), refused(/system.*netdev/));
    assert.throws(() => parseSet('noequals'), refused(/name=value/));
    assert.throws(() => parseSet('a[0]=b'), refused(/lists/));
    await assert.rejects(readChartValues([join(dir, 'absent.yaml')], []), refused(/absent\.yaml: ENOENT/));
    await assert.rejects(readChartValues([file('list.yaml', '[1]')], []), refused(/has to be a mapping/));
    await assert.rejects(readChartValues([file('bad.yaml', 'a: [')], []), refused(/bad\.yaml/));
  });
});
