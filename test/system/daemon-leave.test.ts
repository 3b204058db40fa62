/** The daemon leaves a node: the kernel, the runtime's folder and the switch are as they were before the daemon. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation, leftReason } from '../../lib/api/names.ts';
import { nodes, pods, providerNetworks } from '../../lib/kube/resources.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

const node = new TestNode();
const daemonUid = '5b0f3c0e-0000-4000-8000-000000000001';
let cluster: TestCluster;
let confDir: string;
let binDir: string;
let conflist: string;

before(async () => {
  cluster = await startCluster(node);
  confDir = join(node.dir, 'net.d');
  mkdirSync(confDir);
  conflist = join(confDir, '01-isthmus.conflist');
  binDir = join(node.dir, 'bin');
  mkdirSync(binDir);
  for (const name of ['isthmus', 'loopback', 'portmap']) writeFileSync(join(binDir, name), name);
  // The third plugin is the administrator's.
  writeFileSync(join(binDir, '.isthmus-plugins'), 'isthmus\nloopback\n../net.d\n');
  const source = join(node.dir, '01-isthmus.conflist');
  writeFileSync(source, '{"cniVersion":"1.0.0","name":"isthmus","plugins":[{"type":"isthmus"}]}\n');
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'isthmus-daemon', uid: daemonUid }];
  const spec = { nodeName: 'n1', hostNetwork: true, containers: [{ name: 'daemon', image: 'i' }] };
  const metadata = { name: 'isthmus-daemon-x', namespace: 'kube-system', ownerReferences };
  await cluster.admin.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec });
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

function flags(): readonly string[] {
  const source = join(node.dir, '01-isthmus.conflist');
  return [
    '--pod=kube-system/isthmus-daemon-x',
    `--cni-bin-dir=${binDir}`,
    `--cni-conflist=${source}`,
    `--cni-conf-dir=${confDir}`,
    '--services=on',
  ];
}

async function networkReason(): Promise<string> {
  const { status } = await cluster.admin.get(nodes, { name: 'n1' });
  const { conditions = [] } = status as { conditions?: readonly { type: string; reason?: string }[] };
  return conditions.find(({ type }) => type === 'NetworkUnavailable')?.reason ?? '';
}

function isSocket(name: string): boolean {
  return /^ovn-controller\.\d+\.ctl$/.test(name);
}

/** The compared state of a node: links with their addresses, routes, rules, nftables. */
function host(): Readonly<Record<string, unknown>> {
  const read = (...args: readonly string[]): unknown[] => JSON.parse(exec('ip', '-j', ...args) || '[]') as unknown[];
  const links = read('-d', 'addr') as readonly {
    ifname: string;
    addr_info: readonly { local: string; prefixlen: number; scope: string }[];
  }[];
  // ovs-vswitchd creates the first, ovn-controller the second, as long as they run.
  const others = links.filter(({ ifname }) => ifname !== 'ovs-netdev' && ifname !== 'br-int');
  return {
    links: others.map(({ ifname, addr_info }) => [
      ifname,
      addr_info.filter(({ scope }) => scope === 'global').map(({ local, prefixlen }) => `${local}/${prefixlen}`),
    ]),
    routes: exec('ip', 'route', 'show', 'table', 'all').split('\n').toSorted(),
    rules: exec('ip', 'rule'),
    ruleset: exec('nft', 'list', 'ruleset'),
  };
}

test('a daemon asked to leave restores the node and reports it, also after a restart', async () => {
  const before = host();
  await node.startDaemon(cluster.kubeconfig, ...flags());
  const spec = { defaultInterface: 'up0' };
  const network = { apiVersion: 'kubeovn.io/v1', kind: 'ProviderNetwork', metadata: { name: 'up' }, spec };
  await cluster.admin.create(providerNetworks, network);
  const pod = await cluster.makePod('p1');
  await cluster.allocate(pod, '10.16.0.11');
  assert.equal((await node.cni('ADD', pod.env)).status, 0);
  await eventually('the interface in its bridge', () => node.vsctl('list-br').includes('br-up'));
  await eventually('the node to be ready', async () => (await networkReason()) === 'NetworkReady');
  await eventually('the CNI configuration', () => existsSync(conflist));
  assert.notDeepEqual(host(), before);

  await cluster.annotateNode({ [annotation.leave]: 'of an installation before' });
  await eventually('that name to be read', () => node.hasDaemonLogged('is of another installation'));
  await pause(500);
  assert.ok(existsSync(conflist), 'and nothing to release for it');

  // A killed ovn-controller leaves its socket.
  await node.kill('ovn-controller');
  node.startController();
  await eventually('another ovn-controller', () => readdirSync(join(node.dir, 'run')).filter(isSocket).length === 2);
  await cluster.annotateNode({ [annotation.leave]: daemonUid });
  await eventually('the release of the node', async () => (await networkReason()) === leftReason);
  await eventuallyPasses(() => {
    assert.deepEqual(readdirSync(confDir), []);
    assert.deepEqual(readdirSync(binDir), ['portmap']);
    assert.ok(!existsSync(join(node.dir, 'daemon.sock')));
    assert.deepEqual(host(), before);
    assert.doesNotMatch(node.vsctl('list-br'), /br-up/);
    assert.doesNotMatch(node.vsctl('get', 'open', '.', 'external_ids'), /ovn-remote|ovn-encap|hostname/);
    assert.doesNotMatch(node.vsctl('--columns=name', 'list', 'Port'), /ovn0|mirror0|_h"/);
    assert.ok(existsSync(join(node.dir, 'isthmus-left')), 'the mark for the pods of the switch exists');
  });
  await eventually('an ovn-controller that knows of the chassis to end', () => !node.runs('ovn-controller'));
  await eventually('the Node not to name it', async () => {
    const { metadata } = await cluster.admin.get(nodes, { name: 'n1' });
    return metadata.annotations?.[annotation.chassis] === undefined;
  });

  await node.kill('daemon', 'SIGTERM');
  node.launchDaemon(cluster.kubeconfig, ...flags());
  await eventually('the next one to release it as well', () => node.hasDaemonLogged('nothing of Isthmus is left'));
  assert.ok(!existsSync(conflist));
  assert.deepEqual(host(), before);
});

test('the next daemon serves the node again after the request to leave is withdrawn', async () => {
  await node.kill('daemon', 'SIGTERM');
  node.startController();
  await cluster.annotateNode({ [annotation.leave]: null });
  await node.startDaemon(cluster.kubeconfig, ...flags());
  await eventually('the node to be ready', async () => (await networkReason()) === 'NetworkReady');
  await eventually('the CNI configuration', () => existsSync(conflist));
  await eventually('no mark', () => !existsSync(join(node.dir, 'isthmus-left')));
});
