/** A node whose ovs-vswitchd or ovn-controller dies or freezes says so, and takes it back; nothing is written between. */
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../../daemon/testing-cluster.ts';
import { eventually, TestNode } from '../../daemon/testing.ts';
import { annotation } from '../../lib/api/names.ts';
import { nodes } from '../../lib/kube/resources.ts';

interface Told {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** Of the whole object: any write changes it. */
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
  await cluster?.stop();
});

async function told(): Promise<Told> {
  const { metadata, status } = await cluster.admin.get(nodes, { name: 'n1' });
  const { conditions = [] } = status as { conditions?: (Omit<Told, 'version'> & { type: string })[] };
  const found = conditions.find(({ type }) => type === 'NetworkUnavailable');
  return { status: '', reason: '', message: '', ...found, version: metadata.resourceVersion };
}

async function untilTold(context: TestContext, status: string, reason: string): Promise<void> {
  const startMs = performance.now();
  await eventually(`${status} ${reason}`, async () => {
    const now = await told();
    return now.status === status && now.reason === reason;
  });
  context.diagnostic(`${reason} after ${(performance.now() - startMs).toFixed(0)} ms`);
}

test('a node that works: nothing is written, also not for a short pause of ovs-vswitchd', async (t) => {
  await untilTold(t, 'False', 'NetworkReady');
  await eventually('the chassis to be told', async () => {
    const { metadata } = await cluster.admin.get(nodes, { name: 'n1' });
    return metadata.annotations?.[annotation.chassis];
  });
  const { version } = await told();
  node.signal('vswitchd', 'SIGSTOP');
  await pause(2500);
  node.signal('vswitchd', 'SIGCONT');
  await pause(5000);
  assert.deepEqual((await told()).version, version);
});

test('ovs-vswitchd freezes: told, once, also by a daemon that starts meanwhile; then it goes on', async (t) => {
  node.signal('vswitchd', 'SIGSTOP');
  await untilTold(t, 'True', 'SwitchDown');
  const { message, version } = await told();
  assert.match(message, /^ovs-vswitchd does not answer on its control socket in .*start it again$/);
  await eventually('an event', async () => (await cluster.eventsOn('Node', 'n1'))['SwitchDown'] === message);
  await node.kill('daemon');
  await node.startDaemon(cluster.kubeconfig);
  await pause(7000);
  assert.equal((await told()).version, version, 'nothing is written while it stays so');
  node.signal('vswitchd', 'SIGCONT');
  await untilTold(t, 'False', 'NetworkReady');
});

test('ovs-vswitchd is killed: told; started again, the node works', async (t) => {
  await node.kill('vswitchd');
  await untilTold(t, 'True', 'SwitchDown');
  node.startVswitchd();
  await untilTold(t, 'False', 'NetworkReady');
});

test('ovn-controller is killed: told; started again, the node works', async (t) => {
  await node.kill('ovn-controller');
  await untilTold(t, 'True', 'OvnControllerDown');
  assert.match((await told()).message, /^ovn-controller does not answer/);
  node.startController();
  await untilTold(t, 'False', 'NetworkReady');
});
