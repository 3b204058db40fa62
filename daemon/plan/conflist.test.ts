import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConflist } from '../cni/conflist-shape.ts';
import { planConflist, type Support } from './conflist.ts';

const list = {
  cniVersion: '1.0.0',
  cniVersions: ['1.0.0', '1.1.0'],
  name: 'isthmus',
  plugins: [{ type: 'isthmus' }, { type: 'portmap', capabilities: { portMappings: true } }],
};
const newer = ['0.4.0', '1.0.0', '1.1.0'];
const older = ['0.4.0', '1.0.0'];
const supportOf = (portmap: Support): ReadonlyMap<string, Support> =>
  new Map([
    ['isthmus', newer],
    ['portmap', portmap],
  ]);

test('where all plugins know all versions, the list stays as in the chart', () => {
  assert.deepEqual(planConflist(list, supportOf(newer)), { list, warnings: [] });
});

test('a version that one plugin does not know is not offered', () => {
  const { cniVersions: _, ...without } = list;
  const { list: planned, warnings } = planConflist(list, supportOf(older));
  assert.deepEqual(planned, without);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^CNI 1\.1\.0 is not offered .*; portmap: no support for it was found/);
});

test('a plugin that does not answer is reported, and no version is offered for it', () => {
  const { list: planned, warnings } = planConflist(list, supportOf({ problem: 'it is not in /opt/cni/bin' }));
  assert.equal(planned.cniVersions, undefined);
  assert.equal(planned.cniVersion, '1.0.0');
  assert.equal(warnings[0], 'plugin portmap: it is not in /opt/cni/bin');
});

test('a value that is not a list has no entries', () => {
  for (const text of ['{', '[]', '{"cniVersion":"1.0.0"}', '{"cniVersion":"1.0.0","plugins":[{}]}'])
    assert.equal(parseConflist(text), undefined, text);
  assert.deepEqual(parseConflist(JSON.stringify(list)), list);
});
