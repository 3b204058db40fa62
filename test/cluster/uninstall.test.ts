/** `helm uninstall` on kubelets: leftovers on nodes and Node objects, and a new installation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onMachine } from '../lab/kubelet/machine.ts';
import type { NodeLayout } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { managementAddress } from '../lab/network.ts';
import { run } from '../lab/run.ts';
import { User } from './user.ts';
import { eventually, notYet } from '../../lib/testing-eventually.ts';

const cluster = 'west';

test('uninstalling restores the nodes, and Isthmus can be installed again', async (context) => {
  const user = new User(openLab());
  const { lab } = user;
  const { nodes } = lab.cluster(cluster);
  const sinceMs = performance.now();
  await user.uninstall(cluster);
  context.diagnostic(`helm uninstall took ${((performance.now() - sinceMs) / 1000).toFixed(1)} s`);
  for (const node of nodes) {
    const on = (...argv: readonly string[]): Promise<string> => run(onMachine(node, argv));
    assert.deepEqual(await addresses(node), {
      up0: [node.address],
      mgmt0: [managementAddress(node)],
    });
    assert.doesNotMatch(await on('nft', 'list', 'tables'), /isthmus/);
    assert.equal(await on('ls', '-A', '/etc/cni/net.d'), '');
    assert.equal(await on('ls', '-A', '/opt/cni/bin'), '');
    await eventually(
      'keys to be gone',
      async () => (await on('find', '/run', '-name', '*.key')) === '' || notYet('there are some'),
    );
    assert.match(await on('ip', 'route', 'show', 'default'), /via 172\.30\.0\.1 dev up0/);
    assert.doesNotMatch(await on('ip', 'route', 'show', 'table', 'all'), /ovn0|br-/);
    await eventually(
      `kubelet to say that ${node.name} has no network`,
      async () => {
        const line = await lab.kubectl(cluster, ['get', 'node', node.name, '--no-headers']);
        return line.includes('NotReady') || notYet(line);
      },
      30_000,
    );
    const annotations = await lab.kubectl(cluster, [
      'get',
      'node',
      node.name,
      '-o',
      'jsonpath={.metadata.annotations}',
    ]);
    assert.doesNotMatch(annotations, /isthmus|ovn\.kubernetes\.io/);
  }
  await user.install(cluster, [`interconnect.hub=${user.hub()}`]);
  await user.untilReady(cluster);
  // Pods that ran throughout no longer have an interface.
  await lab.kubectl(cluster, ['-n', 'demo', 'delete', 'pods', '--all', '--wait']);
  await user.runPods(cluster, 'demo');
  const address = await lab.addressOf(cluster, 'demo/web-3');
  await eventually(
    'a ping from east, since the membership was kept',
    async () => (await lab.answers(lab.ns('east', 'demo/web-1'), address)) || notYet('no echo reply'),
    120_000,
  );
});

/** IPv4 addresses of the node's links except its loopback, by link. */
async function addresses(node: NodeLayout): Promise<Record<string, string[]>> {
  const text = await run(onMachine(node, ['ip', '-j', '-4', 'addr']));
  const links = JSON.parse(text) as { ifname: string; addr_info: { local: string }[] }[];
  return Object.fromEntries(
    links
      .filter(({ ifname }) => ifname !== 'lo')
      .map(({ ifname, addr_info }) => [ifname, addr_info.map(({ local }) => local)]),
  );
}
