/** A node whose ovs-vswitchd or ovn-controller dies or freezes reports it in its condition until it works again, and writes nothing in between. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation } from '../../lib/api/names.ts';
import { nodes, providerNetworks } from '../../lib/kube/resources.ts';
import { eventually } from '../../lib/testing-eventually.ts';

interface NodeCondition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** The resource version of the Node, which any write changes. */
  readonly version: string | undefined;
}

const node = new TestNode();
let cluster: TestCluster;

before(async () => {
  cluster = await startCluster(node);
  await node.startDaemon(cluster.kubeconfig);
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

async function networkCondition(): Promise<NodeCondition> {
  const { metadata, status } = await cluster.admin.get(nodes, { name: 'n1' });
  const { conditions = [] } = status as { conditions?: (Omit<NodeCondition, 'version'> & { type: string })[] };
  const found = conditions.find(({ type }) => type === 'NetworkUnavailable');
  return { status: '', reason: '', message: '', ...found, version: metadata.resourceVersion };
}

async function untilCondition(context: TestContext, status: string, reason: string): Promise<void> {
  const startMs = performance.now();
  await eventually(`${status} ${reason}`, async () => {
    const now = await networkCondition();
    return now.status === status && now.reason === reason;
  });
  context.diagnostic(`${reason} after ${(performance.now() - startMs).toFixed(0)} ms`);
}

test('a healthy node writes nothing, even during a short pause of ovs-vswitchd', async (t) => {
  await untilCondition(t, 'False', 'NetworkReady');
  await eventually('the annotation with the chassis', async () => {
    const { metadata } = await cluster.admin.get(nodes, { name: 'n1' });
    return metadata.annotations?.[annotation.chassis];
  });
  const { version } = await networkCondition();
  node.signal('vswitchd', 'SIGSTOP');
  await pause(2500);
  node.signal('vswitchd', 'SIGCONT');
  await pause(5000);
  assert.deepEqual((await networkCondition()).version, version);
});

test('a frozen ovs-vswitchd is reported once until it resumes, also if the daemon restarts meanwhile', async (t) => {
  node.signal('vswitchd', 'SIGSTOP');
  await untilCondition(t, 'True', 'SwitchDown');
  const { message, version } = await networkCondition();
  assert.match(message, /^ovs-vswitchd does not answer on its control socket in .*start it again$/);
  await eventually('an event', async () => (await cluster.eventsOn('Node', 'n1'))['SwitchDown'] === message);
  await node.kill('daemon');
  await node.startDaemon(cluster.kubeconfig);
  await pause(7000);
  assert.equal((await networkCondition()).version, version, 'nothing is written while it stays so');
  node.signal('vswitchd', 'SIGCONT');
  await untilCondition(t, 'False', 'NetworkReady');
});

test('a killed ovs-vswitchd is reported until it restarts', async (t) => {
  await node.kill('vswitchd');
  await untilCondition(t, 'True', 'SwitchDown');
  node.startVswitchd();
  await untilCondition(t, 'False', 'NetworkReady');
});

test('a killed ovn-controller is reported until it restarts', async (t) => {
  await node.kill('ovn-controller');
  await untilCondition(t, 'True', 'OvnControllerDown');
  assert.match((await networkCondition()).message, /^ovn-controller does not answer/);
  node.startController();
  await untilCondition(t, 'False', 'NetworkReady');
});

test('a userspace datapath has the tunnel address on a bridge or ProviderNetwork, and an unfit interface is reported', async (t) => {
  const address = '172.30.9.11/24';
  const holder = (): string => exec('ip', '-4', '-o', 'addr', 'show', 'to', '172.30.9.11').split(/\s+/)[1] ?? '';
  exec('ip', 'link', 'add', 'lb0', 'up', 'type', 'bridge');
  exec('ip', 'addr', 'del', address, 'dev', 'up0');
  exec('ip', 'addr', 'add', address, 'dev', 'lb0');
  const tunnel = ['type=geneve', 'options:remote_ip=172.30.9.12'];
  node.vsctl('add-port', 'br-int', 'tun0', '--', 'set', 'interface', 'tun0', ...tunnel);
  const refusal = /^interface lb0 has the tunnel address 172\.30\.9\.11,.* is a Linux bridge: remove/;
  await eventually('the obstacle', async () => refusal.test((await networkCondition()).message));

  exec('ip', 'link', 'del', 'lb0');
  exec('ip', 'addr', 'add', address, 'dev', 'up0');
  await untilCondition(t, 'False', 'NetworkReady');
  await eventually('the bridge for tunnels to have it', () => holder() === 'br-tunnel');
  await node.kill('daemon');
  await node.startDaemon(cluster.kubeconfig);
  await pause(1000);
  assert.equal(holder(), 'br-tunnel', 'a restart decides the same');

  const up = { metadata: { name: 'up' }, spec: { defaultInterface: 'up0' } };
  await cluster.admin.create(providerNetworks, { apiVersion: 'kubeovn.io/v1', kind: 'ProviderNetwork', ...up });
  await eventually('the ProviderNetwork to have the interface', () => holder() === 'br-up');
  await eventually('no bridge for tunnels', () => !node.vsctl('list-br').includes('br-tunnel'));
  await untilCondition(t, 'False', 'NetworkReady');
  await cluster.admin.delete(providerNetworks, { name: 'up' });
  await eventually('the bridge for tunnels to have it again', () => holder() === 'br-tunnel');
  await untilCondition(t, 'False', 'NetworkReady');
  const { metadata } = await cluster.admin.get(nodes, { name: 'n1' });
  assert.doesNotMatch(
    JSON.stringify([metadata.labels, metadata.annotations]),
    /tunnel\./,
    'no mark of a network without an object',
  );
  node.vsctl('del-port', 'br-int', 'tun0');
});

test('a daemon that waits for Open vSwitch is healthy but not ready, and logs the reason', async () => {
  const [address, database] = ['127.0.0.1:10777', `unix:${node.dir}/nowhere.sock`];
  const flags = {
    kubeconfig: cluster.kubeconfig,
    node: 'n1',
    ovs: database,
    sb: node.remote('sb'),
    'metrics-address': address,
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  node.start(
    'waiting',
    process.execPath,
    join(import.meta.dirname, '../../daemon/main.ts'),
    ...args,
    `--socket=${node.dir}/waiting.sock`,
    '--encap-ip=172.30.9.11',
  );
  const statusOf = async (path: string): Promise<number | undefined> =>
    fetch(`http://${address}${path}`).then(
      ({ status }) => status,
      () => undefined,
    );
  await eventually('an answer of the daemon', () => statusOf('/healthz'));
  assert.deepEqual(
    [await statusOf('/healthz'), await statusOf('/readyz'), await statusOf('/metrics')],
    [200, 503, 200],
  );
  const line = await eventually(
    'a line of its log',
    () => /"msg":"(Open_vSwitch at [^"]*)"/.exec(node.log('waiting'))?.[1],
  );
  assert.match(line, /nowhere\.sock does not answer: .*; trying again$/);
  await node.kill('waiting');
});

test('a changed MAC address of a tunnel next hop is written to Open vSwitch', async () => {
  const bridge = exec('ip', '-4', '-o', 'addr', 'show', 'to', '172.30.9.11').split(/\s+/)[1] ?? '';
  assert.equal(bridge, 'br-tunnel');
  const known = (): string => exec('ovs-appctl', `--target=${join(node.dir, 'ovs-vswitchd.ctl')}`, 'tnl/neigh/show');
  const appear = (mac: string, state: string): string =>
    exec('ip', 'neigh', 'replace', '172.30.9.12', 'lladdr', mac, 'dev', bridge, 'nud', state);
  for (const [mac, state] of [
    ['02:00:00:00:09:12', 'reachable'],
    ['02:00:00:00:09:13', 'stale'],
  ] as const) {
    appear(mac, state);
    await eventually(`${mac} in the switch`, () => new RegExp(`172\\.30\\.9\\.12 +${mac} +br-tunnel`).test(known()));
  }
  await eventually('the change to be logged', () =>
    node.hasDaemonLogged('a next hop of tunnels has another MAC address'),
  );
});

test('a node resolves the remote ends of its tunnels, which thereby learn its MAC address', async () => {
  const tunnel = ['type=geneve', 'options:remote_ip=172.30.9.77'];
  node.vsctl('add-port', 'br-int', 'tun1', '--', 'set', 'interface', 'tun1', ...tunnel);
  await eventually('the question', () =>
    /^172\.30\.9\.77 dev br-tunnel/m.test(exec('ip', '-s', 'neigh', 'show', 'nud', 'all')),
  );
  node.vsctl('del-port', 'br-int', 'tun1');
});
