/**
 * The node's features that Subnets and pod annotations request, with packets: further interfaces, outgoing NAT by rule and
 * address, external gateways, queues and mirrors. The test stands in for the controller.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation } from '../../lib/api/names.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
let pod: TestPod;
let neighbour: TestPod;
const provider = 'red.default.ovn';
/** The host beyond the uplink, which has no route to pods. */
const outside = '172.30.9.1';
/** An address behind a router of another uplink. */
const far = '192.0.2.1';

before(async () => {
  cluster = await startCluster(node);
  await node.startDaemon(cluster.kubeconfig);
  pod = await addPod('web', '10.16.0.21');
  neighbour = await addPod('neighbour', '10.16.0.22');
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

const results = new Map<TestPod, object>();

async function addPod(name: string, ip: string): Promise<TestPod> {
  const made = await cluster.makePod(name);
  await cluster.allocate(made, ip);
  results.set(made, await succeed(node.cni('ADD', made.env)));
  return made;
}

/** The answer of a successful CNI call. */
async function succeed(answer: ReturnType<TestNode['cni']>): Promise<object> {
  const { status, json } = await answer;
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}`);
  return json;
}

function inPod({ netns }: TestPod, ...command: readonly string[]): string {
  return exec('ip', 'netns', 'exec', netns, ...command);
}

/** @param seconds the time limit of its one packet */
function reaches(from: TestPod, address: string, seconds = 1): boolean {
  try {
    inPod(from, 'ping', '-c1', `-W${seconds}`, address);
    return true;
  } catch {
    return false;
  }
}

/** The capture of echo requests, with their source addresses, that arrive outside while the pod pings. */
async function sourcesOutside(from: TestPod): Promise<string> {
  const seen = capture(node.outside, 'eth0', 'icmp[icmptype] == icmp-echo');
  await seen.started;
  // Not until its answer: some of them have no way back.
  const ping = spawn('ip', ['netns', 'exec', from.netns, 'ping', '-c1', '-W20', outside], { stdio: 'ignore' });
  const ended = once(ping, 'exit');
  await eventually('the request, or the end of the ping', () => seen.text() !== '' || ping.exitCode !== null);
  ping.kill();
  await ended;
  return seen.stop();
}

/** Runs tcpdump in a network namespace; '' is the node's. */
function capture(
  netns: string,
  device: string,
  filter: string,
): { started: Promise<void>; text: () => string; stop: () => Promise<string> } {
  const command = [
    ...(netns === '' ? [] : ['ip', 'netns', 'exec', netns]),
    'tcpdump',
    '--immediate-mode',
    '-lnni',
    device,
    ...filter.split(' '),
  ];
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const started = new Promise<void>((resolve) =>
    child.stderr.on('data', (chunk: Buffer) => String(chunk).includes('listening') && resolve()),
  );
  const ended = new Promise<string>((resolve) => child.on('close', () => resolve(text)));
  return { started, text: () => text, stop: () => (child.kill('SIGINT'), ended) };
}

test('each interface of a pod has its own network, and survives a daemon restart and the DEL of the other', async () => {
  const mate = await cluster.makePod('mate');
  await cluster.allocate(mate, '10.16.0.23');
  const [duo, config] = [pod, { provider }];
  await cluster.attach(mate, provider, '10.30.0.24');
  const early = node.cni('ADD', { ...duo.env, CNI_IFNAME: 'net1' }, config);
  await cluster.annotatePod(duo, { [`${provider}.kubernetes.io/routes`]: '[{"dst":"10.9.0.0/16","gw":"10.30.0.24"}]' });
  await cluster.attach(duo, provider, '10.30.0.25');
  const kept = { ...config, prevResult: await succeed(early) };
  // This pod has only the attachment: its default network is never added.
  await succeed(node.cni('ADD', { ...mate.env, CNI_IFNAME: 'net1' }, config));
  assert.match(inPod(duo, 'ip', '-o', 'addr', 'show', 'net1'), /inet 10\.30\.0\.25\/16/);
  const routes = inPod(duo, 'ip', 'route');
  assert.match(routes, /default via 10\.16\.0\.1 dev eth0/);
  assert.match(routes, /10\.9\.0\.0\/16 via 10\.30\.0\.24 dev net1/);
  assert.ok(reaches(mate, '10.30.0.25', 20), 'from net1 to net1');
  assert.ok(!reaches(mate, '10.16.0.21'), 'the default network is another');
  inPod(duo, 'ping', '-I', 'eth0', '-c1', '-W20', '10.16.0.22');

  await node.kill('daemon');
  await node.startDaemon(cluster.kubeconfig);
  assert.ok(reaches(mate, '10.30.0.25', 20));
  const again = await node.cni('ADD', { ...duo.env, CNI_IFNAME: 'net2' }, config);
  assert.match(String(again.json['msg']), /interface net1 of container .* has logical port web\.default\.red/);
  await succeed(node.cni('CHECK', { ...duo.env, CNI_IFNAME: 'net1' }, kept));
  inPod(duo, 'ip', 'addr', 'del', '10.30.0.25/16', 'dev', 'net1');
  const check = await node.cni('CHECK', { ...duo.env, CNI_IFNAME: 'net1' }, kept);
  assert.deepEqual(
    [check.json['code'], check.json['msg']],
    [104, 'pod default/web: interface net1 has lost address 10.30.0.25'],
  );
  await succeed(node.cni('CHECK', duo.env, { prevResult: results.get(duo) }));
  await succeed(node.cni('DEL', { ...duo.env, CNI_IFNAME: 'net1' }, config));
  assert.equal((await node.cni('CHECK', { ...duo.env, CNI_IFNAME: 'net1' }, kept)).json['code'], 3);
  assert.doesNotMatch(inPod(duo, 'ip', '-o', 'link'), /net1/);
  assert.ok(reaches(duo, '10.16.0.22', 20));
});

test('the default route moves to an attachment that asks for it', async () => {
  const moved = await addPod('moved', '10.16.0.26');
  await cluster.annotatePod(moved, { [`${provider}.kubernetes.io/default_route`]: 'true' });
  await cluster.attach(moved, provider, '10.30.0.27');
  await succeed(node.cni('ADD', { ...moved.env, CNI_IFNAME: 'net1' }, { provider }));
  assert.match(inPod(moved, 'ip', 'route'), /^default via 10\.30\.0\.1 dev net1 proto 155 *$/m);
  assert.equal(inPod(moved, 'ip', 'route').match(/^default/gm)?.length, 1);
});

test('wrong annotations fail an ADD at once', async () => {
  const wrong = await cluster.makePod('wrong');
  await cluster.refuse(wrong, 'InvalidAddress', '10.99.0.1 is in no subnet');
  const start = performance.now();
  const { json } = await node.cni('ADD', wrong.env);
  // ADD waits 25 seconds for an address that is not allocated yet.
  assert.ok(performance.now() - start < 15_000);
  assert.deepEqual(
    [json['code'], json['msg']],
    [103, 'pod default/wrong gets no address: InvalidAddress: 10.99.0.1 is in no subnet'],
  );
  await cluster.annotatePod(wrong, { [annotation.routes]: '[{"dst":"10.9.0.0/16"}]' });
  await cluster.allocate(wrong, '10.16.0.28');
  const second = await node.cni('ADD', wrong.env);
  assert.match(String(second.json['msg']), /annotation ovn\.kubernetes\.io\/routes must be a JSON list/);
  await cluster.annotatePod(wrong, { [annotation.routes]: null });
  await eventually('the mended pod', async () => (await node.cni('ADD', wrong.env)).status === 0);
});

test('outgoing NAT follows the rules of the subnet, or uses the address of the gateway node', async () => {
  const rules = [
    { match: { srcIPs: '10.16.0.21', dstIPs: '172.30.9.0/24' }, action: 'forward' },
    { match: { srcIPs: '10.16.0.0/27' }, action: 'nat' },
  ];
  await cluster.setSubnet('ovn-default', { natOutgoingPolicyRules: rules });
  await eventually('the chain', () =>
    exec('nft', 'list', 'table', 'inet', 'isthmus').includes('chain outgoing-ovn-default'),
  );
  await eventually('its own address', async () => (await sourcesOutside(pod)).includes('IP 10.16.0.21 > 172.30.9.1'));
  await eventually('the node’s', async () => (await sourcesOutside(neighbour)).includes('IP 172.30.9.11 > 172.30.9.1'));

  exec('ip', 'addr', 'add', '172.30.9.50/32', 'dev', 'up0');
  const gateway = { gatewayType: 'centralized', gatewayNode: 'n1:172.30.9.50,n2:172.30.9.51' };
  await cluster.setSubnet('ovn-default', { natOutgoingPolicyRules: null, ...gateway });
  await eventually('the address', async () => (await sourcesOutside(pod)).includes('IP 172.30.9.50 > '));

  exec('ip', 'addr', 'del', '172.30.9.50/32', 'dev', 'up0');
  await eventually('masquerade', async () => (await sourcesOutside(pod)).includes('IP 172.30.9.11 > '));
  await eventually('an event', async () =>
    /no interface of the node has/.test(
      (await cluster.eventsOn('Subnet', 'ovn-default'))['GatewayAddressMissing'] ?? '',
    ),
  );
  await cluster.setSubnet('ovn-default', { gatewayType: 'distributed', gatewayNode: null });
});

test('the rule and table of an external egress gateway are added, restored, and removed', async () => {
  const router = node.addNamespace('router');
  const link = (): void => {
    exec('ip', 'link', 'add', 'up1', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', router);
    exec('ip', 'link', 'set', 'up1', 'up');
    exec('ip', 'addr', 'add', '172.30.8.11/24', 'dev', 'up1');
  };
  link();
  exec('ip', '-n', router, 'addr', 'add', '172.30.8.1/24', 'dev', 'eth0');
  exec('ip', '-n', router, 'addr', 'add', `${far}/32`, 'dev', 'lo');
  exec('ip', '-n', router, 'link', 'set', 'eth0', 'up');
  exec('ip', '-n', router, 'route', 'add', '10.16.0.0/16', 'via', '172.30.8.11');
  const egress = { externalEgressGateway: '172.30.8.1', policyRoutingPriority: 1001, policyRoutingTableID: 1001 };
  assert.ok(!reaches(pod, far));
  await cluster.setSubnet('ovn-default', { natOutgoing: false, ...egress });
  await eventually('the way out', () => reaches(pod, far));
  assert.match(exec('ip', 'rule'), /1001:\tfrom 10\.16\.0\.0\/16 iif ovn0 lookup 1001 proto 155/);
  assert.match(exec('ip', 'route', 'show', 'table', '1001'), /default via 172\.30\.8\.1 dev up1 proto 155/);

  // The kernel drops the route silently.
  exec('ip', 'link', 'set', 'up1', 'down');
  exec('ip', 'link', 'set', 'up1', 'up');
  exec('ip', 'rule', 'del', 'priority', '1001');
  await eventually('the way out again', () => reaches(pod, far));

  await cluster.setSubnet('ovn-default', { externalEgressGateway: '203.0.113.9' });
  await eventually('an event', async () =>
    /kernel refused .*203\.0\.113\.9.* must be a neighbour/.test(
      (await cluster.eventsOn('Subnet', 'ovn-default'))['EgressGatewayRefused'] ?? '',
    ),
  );
  await cluster.setSubnet('ovn-default', { natOutgoing: true, externalEgressGateway: null });
  await eventually('no rule', () => !exec('ip', 'rule').includes('1001'));
  await eventually('NAT', () => reaches(pod, outside));
  await eventually('an empty table', () => !exec('ip', 'route', 'show', 'table', 'all').includes('table 1001'));
});

test('queue and mirror follow the annotations of a running pod', async () => {
  const port = pod.env['CNI_CONTAINERID']!.slice(0, 12) + '_h';
  const queues = (): string => node.vsctl('--bare', '--columns=type,other_config', 'list', 'qos');
  const mirrored = (): string => node.vsctl('--bare', '--columns=select_src_port,select_dst_port', 'list', 'mirror');
  await cluster.annotatePod(pod, { [annotation.latency]: '20', [annotation.loss]: '0.5', [annotation.mirror]: 'true' });
  await eventually('the queue', () => queues() === 'linux-netem\nlatency=20000 loss=0.5');
  assert.notEqual(node.vsctl('get', 'port', port, 'qos'), '[]');
  const uuid = node.vsctl('get', 'port', port, '_uuid');
  await eventually('the mirror', () => mirrored() === `${uuid}\n${uuid}`);
  // Whether the kernel has it depends on the machine.
  const hasNetem = (): boolean => exec('tc', 'qdisc', 'show', 'dev', port).includes('netem');
  await eventually(
    'netem, or an event',
    async () => hasNetem() || 'QosNotApplied' in (await cluster.eventsOn('Pod', 'web')),
  );

  const copies = capture('', 'mirror0', 'icmp');
  await copies.started;
  assert.ok(reaches(pod, '10.16.0.22', 20));
  for (const copy of ['10.16.0.21 > 10.16.0.22: ICMP echo request', '10.16.0.22 > 10.16.0.21: ICMP echo reply'])
    await eventually(copy, () => copies.text().includes(copy));
  await copies.stop();

  const size = (): number => readFileSync(join(node.dir, 'db.conf')).length;
  await node.kill('daemon');
  const written = size();
  await node.startDaemon(cluster.kubeconfig);
  assert.equal(size(), written, 'a start against what agrees writes nothing');
  assert.notEqual(queues(), '');
  assert.notEqual(mirrored(), '');

  const off = { [annotation.latency]: 'soon', [annotation.loss]: null, [annotation.mirror]: 'false' };
  await cluster.annotatePod(pod, off);
  await eventually('no queue', () => queues() === '');
  await eventually('no mirror', () => mirrored() === '');
  await eventually('an event', async () => 'InvalidAnnotation' in (await cluster.eventsOn('Pod', 'web')));

  await cluster.annotatePod(pod, { [annotation.latency]: null, [annotation.mirror]: 'true' });
  await eventually('the mirror', () => mirrored() !== '');
  await succeed(node.cni('DEL', pod.env));
  await eventually('no mirror', () => mirrored() === '');
});
