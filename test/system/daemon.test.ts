/** The daemon on a real node: kube-apiserver, OVN, Open vSwitch and the kernel; the test stands in only for the controller. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation } from '../../lib/api/names.ts';
import { nodes, subnets } from '../../lib/kube/resources.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
/** A pod that lives as long as the node, 10.16.0.11; its neighbour is 10.16.0.12. */
let first: TestPod;

before(async () => {
  cluster = await startCluster(node);
  await node.startDaemon(cluster.kubeconfig);
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

async function addPod(name: string, ip: string): Promise<TestPod> {
  const pod = await cluster.makePod(name);
  await cluster.allocate(pod, ip);
  const { status, json } = await node.cni('ADD', pod.env);
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}\n${node.log('ovn-controller')}`);
  return pod;
}

function inPod({ netns }: TestPod, ...command: readonly string[]): string {
  return exec('ip', 'netns', 'exec', netns, ...command);
}

function podPorts(): readonly string[] {
  const ports = node.vsctl('list-ports', 'br-int').split('\n');
  return ports.filter((name) => name.endsWith('_h'));
}

function rules(): string {
  return exec('nft', 'list', 'table', 'inet', 'isthmus');
}

function hasNodeAddress(): boolean {
  return exec('ip', '-o', '-4', 'addr', 'show').includes('ovn0    inet 100.64.0.2/16');
}

test('a node has ovn0, routes, NAT rules, a chassis annotation and a condition', async () => {
  await eventually('ovn0 with its address', hasNodeAddress);
  const link = exec('ip', '-o', 'link', 'show', 'ovn0');
  assert.match(link, /mtu 1442 .*link\/ether 02:00:64:40:00:02/, 'MTU of the uplink less 58');
  await eventuallyPasses(() => {
    assert.match(exec('ip', 'route'), /10\.16\.0\.0\/16 via 100\.64\.0\.1 dev ovn0 proto 155 src 100\.64\.0\.2/);
    assert.match(rules(), /set nat4 \{[^}]*10\.16\.0\.0\/16/);
    assert.match(rules(), /set cluster4 \{[^}]*10\.16\.0\.0\/16, 100\.64\.0\.0\/16/);
    assert.equal(readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim(), '1');
  });
  assert.equal(node.vsctl('get', 'bridge', 'br-int', 'datapath_type', 'fail_mode'), 'netdev\nsecure');
  assert.equal(node.vsctl('get', 'open', '.', 'external_ids:ovn-remote'), `"${node.remote('sb')}"`);
  await eventually('the condition of the Node', async () => {
    const { metadata, status } = await cluster.admin.get(nodes, { name: 'n1' });
    const { conditions = [] } = status as { conditions?: { type: string; status: string; reason: string }[] };
    const condition = conditions.find(({ type }) => type === 'NetworkUnavailable');
    const isReady = condition?.status === 'False' && condition.reason === 'NetworkReady';
    return isReady && metadata.annotations?.[annotation.chassis] === 'chassis-1';
  });
});

test('routes and NAT sets follow changes of the subnets', async () => {
  await cluster.makeSubnet('second', '10.18.0.0/24', true);
  await eventually('the route', () => exec('ip', 'route').includes('10.18.0.0/24 via 100.64.0.1 dev ovn0'));
  await cluster.admin.delete(subnets, { name: 'second' });
  await eventually('no route', () => !exec('ip', 'route').includes('10.18.0.0/24'));
  await eventually('no set member', () => !rules().includes('10.18.0.0/24'));
});

test('ADD connects a pod to its neighbour, to the node, and to the outside with the address of the node', async () => {
  first = await addPod('first', '10.16.0.11');
  const second = await addPod('second', '10.16.0.12');
  assert.match(inPod(first, 'ip', '-o', 'addr', 'show', 'eth0'), /inet 10\.16\.0\.11\/16/);
  assert.match(inPod(first, 'ip', '-o', 'link', 'show', 'eth0'), /mtu 1442 .* 02:00:00:00:00:11/);
  assert.match(inPod(first, 'ethtool', '-k', 'eth0'), /tx-checksumming: off/);
  inPod(first, 'ping', '-c1', '-W20', '10.16.0.12');
  inPod(second, 'ping', '-c1', '-W20', '172.30.9.11');
  exec('ping', '-c1', '-W20', '10.16.0.11');
  // Without a route back to pods, an answer proves that the source was the node.
  assert.doesNotMatch(exec('ip', '-n', node.outside, 'route'), /10\.16/);
  inPod(first, 'ping', '-c1', '-W20', '172.30.9.1');
  const columns = ['--format=json', '--columns=external_ids'];
  const ids = node.vsctl(...columns, 'find', 'interface', 'external_ids:iface-id=first.default');
  for (const id of [first.uid, 'isthmus-owner', 'ovn-installed']) assert.ok(ids.includes(id), `${id} in ${ids}`);
});

test('a second ADD is refused, and DEL affects only its container and may be repeated', async () => {
  const pod = await addPod('twice', '10.16.0.13');
  const again = await node.cni('ADD', pod.env);
  assert.deepEqual([again.status, again.json['code'], again.json['cniVersion']], [1, 101, '1.0.0']);
  inPod(pod, 'ping', '-c1', '-W20', '10.16.0.11');

  const later = cluster.sandboxOf('twice', pod.uid, 'feedfacefeedfacefeed0002');
  const { status, json } = await node.cni('ADD', later.env);
  assert.equal(status, 0, JSON.stringify(json));
  assert.equal((await node.cni('DEL', pod.env)).status, 0, 'the old sandbox');
  assert.ok(podPorts().includes('feedfacefeed_h'), 'the DEL of the old sandbox left the new one alone');
  inPod(later, 'ping', '-c1', '-W20', '10.16.0.11');
  for (const _ of [1, 2])
    assert.deepEqual(await node.cni('DEL', { ...later.env, CNI_NETNS: '' }), { status: 0, json: {} });
  assert.ok(!podPorts().includes('feedfacefeed_h'));
  assert.deepEqual(await node.cni('DEL', { ...later.env, CNI_CONTAINERID: 'never-seen' }), { status: 0, json: {} });
});

test('ADD refuses an existing interface name, and a missing or invalid network namespace', async () => {
  const pod = await cluster.makePod('taken');
  await cluster.allocate(pod, '10.16.0.14');
  inPod(pod, 'ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'x0');
  const ports = podPorts();
  const codeOf = async (changes: Record<string, string>): Promise<unknown> =>
    (await node.cni('ADD', { ...pod.env, ...changes })).json['code'];
  assert.equal(await codeOf({}), 101);
  assert.equal(await codeOf({ CNI_NETNS: '/var/run/netns/nobody' }), 3);
  assert.equal(await codeOf({ CNI_NETNS: '/etc/hostname' }), 4);
  assert.equal(await codeOf({ CNI_NETNS: '/proc/self/ns/net' }), 8);
  assert.deepEqual(podPorts(), ports, 'nothing was left behind');
});

test('an ADD waits for its address, and is reverted if its client dies', async () => {
  const waiting = await cluster.makePod('waiting');
  const answer = node.cni('ADD', waiting.env);
  await cluster.allocate(waiting, '10.16.0.15');
  assert.equal((await answer).status, 0);

  const dying = await cluster.makePod('dying');
  // ovn-controller never installs this interface, because it has no logical port.
  await cluster.annotate(dying, '10.16.0.16');
  const client = new AbortController();
  const abandoned = node.cni('ADD', dying.env, {}, client.signal);
  const find = ['--bare', '--columns=name', 'find', 'interface', 'external_ids:iface-id=dying.default'];
  const port = await eventually('the port', () => node.vsctl(...find) || undefined);
  client.abort();
  await abandoned;
  await eventually('no port', () => !podPorts().includes(port));
  await eventually('no link', () => !exec('ip', '-o', 'link').includes(port));
});

test('a killed daemon interrupts no traffic, writes nothing when it restarts, and deletes lost sandboxes', async () => {
  const [stays, gone] = [await addPod('stays', '10.16.0.17'), await addPod('gone', '10.16.0.18')];
  // Every committed write appends to the database's file.
  const state = (): unknown => [
    readFileSync(join(node.dir, 'db.conf')).length,
    node.vsctl('--format=json', '--columns=_uuid,name,external_ids', 'list', 'interface'),
    rules(),
  ];
  await node.kill('daemon');
  inPod(first, 'ping', '-c1', '-W20', '10.16.0.17');
  const before = state();
  await node.startDaemon(cluster.kubeconfig);
  assert.deepEqual(state(), before, 'a start against what agrees writes nothing');
  inPod(stays, 'ping', '-c1', '-W20', '172.30.9.1');

  await node.kill('daemon');
  await cluster.deletePod('gone');
  node.deleteNamespace(gone.netns);
  await node.startDaemon(cluster.kubeconfig);
  await eventually('the port of the lost sandbox to go', () => !JSON.stringify(state()).includes('gone.default'));
  assert.equal((await node.cni('DEL', stays.env)).status, 0);
  assert.equal((await node.cni('DEL', gone.env)).status, 0);
});

test('ovn0 gets its address back after a restart of ovs-vswitchd', async () => {
  await node.kill('vswitchd');
  node.startVswitchd();
  await eventually('ovn0 with its address', hasNodeAddress);
  await eventually('the route', () => exec('ip', 'route').includes('10.16.0.0/16 via 100.64.0.1 dev ovn0'));
  await eventually('traffic', () => {
    try {
      return inPod(first, 'ping', '-c1', '-W1', '10.16.0.12').includes(' 0% packet loss');
    } catch {
      return false;
    }
  });
});

test('SIGTERM cancels and reverts an ADD in progress, and ends the daemon', async () => {
  const pod = await cluster.makePod('late');
  const answer = node.cni('ADD', pod.env);
  await cluster.annotate(pod, '10.16.0.19');
  await eventually('the port', () =>
    podPorts().some((name) => pod.env['CNI_CONTAINERID']?.startsWith(name.slice(0, 12))),
  );
  const ports = podPorts().length;
  await node.kill('daemon', 'SIGTERM');
  const { status, json } = await answer;
  assert.deepEqual([status, json['code']], [1, 11]);
  assert.equal(podPorts().length, ports - 1);
});
