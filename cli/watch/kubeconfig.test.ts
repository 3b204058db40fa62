import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { KubeConfigError } from '../../lib/kube/errors.ts';
import { findKubeconfig } from './kubeconfig.ts';

const config = (name: string, more = '') =>
  `apiVersion: v1
kind: Config
current-context: ${name}
contexts: [{ name: ${name}, context: { cluster: ${name}, user: ${name} } }, { name: other, context: { cluster: ${name}, user: ${name} } }]
clusters: [{ name: ${name}, cluster: { server: 'https://${name}.example.com', certificate-authority: pki/ca.crt } }]
users: [{ name: ${name}, user: { token: secret-of-${name} } }]
${more}`;

describe('which kubeconfig is used', () => {
  let dir: string;
  let east: string;
  let west: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'isthmus-cli-'));
    mkdirSync(join(dir, 'home/.kube'), { recursive: true });
    east = join(dir, 'home/.kube/config');
    west = join(dir, 'west.yaml');
    writeFileSync(east, config('east'));
    writeFileSync(west, config('west'));
  });
  after(() => rmSync(dir, { recursive: true, force: true }));
  const find = (flags: { kubeconfig?: string; context?: string }, env: Record<string, string> = {}) =>
    findKubeconfig({ kubeconfig: flags.kubeconfig, context: flags.context }, env);

  it('the flag, else KUBECONFIG, else the home folder, else the pod', async () => {
    const env = { HOME: join(dir, 'home'), KUBECONFIG: west };
    assert.deepEqual((await find({ kubeconfig: east }, env)).config, east);
    assert.deepEqual((await find({}, env)).config, west);
    assert.deepEqual((await find({}, { HOME: join(dir, 'home') })).config, east);
    const pod = await find({}, { HOME: dir });
    assert.deepEqual([pod.config, pod.label], [undefined, 'this cluster']);
  });

  it('several files and another context become one document', async () => {
    const found = await find({ context: 'west' }, { KUBECONFIG: `${east}:${join(dir, 'absent')}:${west}` });
    assert.ok(typeof found.config === 'object');
    assert.match(found.config.source, /config, .*west\.yaml$/);
    const root = found.config.content as {
      'current-context': string;
      clusters: { name: string; cluster: Record<string, string> }[];
      contexts: { name: string; context: { cluster: string } }[];
    };
    assert.equal(root['current-context'], 'west');
    assert.deepEqual(
      root.clusters.map(({ name }) => name),
      ['east', 'west'],
    );
    assert.equal(root.clusters[1]?.cluster['certificate-authority'], join(dir, 'pki/ca.crt'));
    // Of two entries with one name, the first counts.
    assert.equal(root.contexts.find(({ name }) => name === 'other')?.context.cluster, 'east');
  });

  it('an error names the file and the available entries', async () => {
    const says = (words: RegExp) => (error: unknown) => error instanceof KubeConfigError && words.test(error.message);
    await assert.rejects(
      find({ kubeconfig: west, context: 'north' }),
      says(/no context "north" in .*west\.yaml; there are: west, other/),
    );
    await assert.rejects(find({ kubeconfig: join(dir, 'absent') }), says(/absent: cannot be read/));
    await assert.rejects(find({ context: 'x' }, { HOME: dir }), says(/there is no kubeconfig/));
  });
});
