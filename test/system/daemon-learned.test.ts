/**
 * Prefixes that the node's speaker learned, as kernel routes, with packets to two routers beyond the node and back. The test
 * stands in for the speaker, which writes slices, and for the controller.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { bgpRoutes } from '../../lib/slices/bgp-routes.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import { remoteRoutes } from '../../lib/slices/remote-routes.ts';
import { bgpNodeStates, events, nodes, remoteClusters, transitSwitches } from '../../lib/kube/resources.ts';
import { manyPrefixes, overFourPaths, putRoutes } from './route-lists.ts';
import { lendPort } from './bgp/lend-port.ts';
import { eventually, eventuallyPasses } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
let pod: TestPod;
/** The network namespaces of the routers. */
const spaces = new Map<string, string>();
/** A network behind both routers. */
const far = '192.0.2.1';
const farSix = '2001:db8::1';

before(async () => {
  cluster = await startCluster(node);
  for (const [index, name] of ['a', 'b'].entries()) addRouter(name, index + 1);
  exec('sysctl', '-qw', 'net.ipv4.conf.all.rp_filter=1');
  node.start('monitor', 'ip', '-ts', 'monitor', 'route');
  await node.startDaemon(cluster.kubeconfig);
  pod = await cluster.makePod('web');
  await cluster.allocate(pod, '10.16.0.21');
  const { status, json } = await node.cni('ADD', pod.env);
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}`);
  await cluster.admin.create(bgpNodeStates, {
    apiVersion: 'isthmus.network/v1alpha1',
    kind: 'BgpNodeState',
    metadata: { name: 'n1' },
  });
});

after(async () => {
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

/** Adds a router on its own link, 172.31.<index>.1 and fd00:31:<index>::1, with a route to the pods. */
function addRouter(name: string, index: number): void {
  const space = node.addNamespace(name);
  spaces.set(name, space);
  const link = `up-${name}`;
  exec('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
  exec('ip', 'link', 'set', link, 'up');
  exec('ip', 'addr', 'add', `172.31.${index}.11/24`, 'dev', link);
  exec('ip', 'addr', 'add', `fd00:31:${index}::11/64`, 'dev', link, 'nodad');
  exec('ip', '-n', space, 'addr', 'add', `172.31.${index}.1/24`, 'dev', 'eth0');
  exec('ip', '-n', space, 'addr', 'add', `fd00:31:${index}::1/64`, 'dev', 'eth0', 'nodad');
  exec('ip', '-n', space, 'addr', 'add', `${far}/32`, 'dev', 'lo');
  exec('ip', '-n', space, 'addr', 'add', `${farSix}/128`, 'dev', 'lo');
  exec('ip', '-n', space, 'link', 'set', 'eth0', 'up');
  exec('ip', '-n', space, 'route', 'add', '10.16.0.0/16', 'via', `172.31.${index}.11`);
}

interface Entry {
  readonly prefix: string;
  readonly nextHop: string;
  readonly preference?: number;
}

async function learn(...entries: readonly Entry[]): Promise<void> {
  const learned = entries.map((entry) => ({ peer: entry.nextHop, preference: 100, ...entry }));
  await putRoutes(cluster.admin, bgpRoutes, 'n1', learned);
}

function routes(): string {
  return [exec('ip', 'route'), exec('ip', '-6', 'route')].join('').replaceAll(/\s*\n\tnexthop/g, ' nexthop');
}

function sentOn(link: string): number {
  const [shown] = JSON.parse(exec('ip', '-s', '-j', 'link', 'show', link)) as {
    stats64: { tx: { packets: number } };
  }[];
  return shown?.stats64.tx.packets ?? 0;
}

/** The daemon's kernel routes for learned prefixes, one line each. */
function learned(): readonly string[] {
  const lines = routes().split('\n');
  return lines.filter((line) => line.includes('proto bgp') && /metric (86|486)\b/.test(line));
}

function inPod(...command: readonly string[]): string {
  return exec('ip', 'netns', 'exec', pod.netns, ...command);
}

/** @param seconds the time limit of its one packet */
function reaches(address: string, seconds = 1): boolean {
  try {
    inPod('ping', '-c1', `-W${seconds}`, address);
    return true;
  } catch {
    return false;
  }
}

/** Milliseconds from the write until the kernel reports a route; `ip monitor` logs the time. */
async function timed(change: () => Promise<void>, line: RegExp): Promise<string> {
  const [lines, start] = [monitored().length, Date.now()];
  await change();
  const shown = await eventually(String(line), () =>
    monitored()
      .slice(lines - 1)
      .find((one) => line.test(one)),
  );
  return `${Date.parse(`${/^\[([^\]]*)\]/.exec(shown)?.[1]}Z`) - start} ms`;
}

function monitored(): readonly string[] {
  return readFileSync(join(node.dir, 'monitor.log'), 'utf8').split('\n');
}

const viaA = { prefix: '192.0.2.0/24', nextHop: '172.31.1.1' };
const viaB = { prefix: '192.0.2.0/24', nextHop: '172.31.2.1' };

test('a learned prefix is a kernel route while the speaker reports it, and pods reach it with and without NAT', async (t) => {
  assert.ok(!reaches(far));
  const came = await timed(() => learn(viaA), /\] 192\.0\.2\.0\/24 via 172\.31\.1\.1 dev up-a/);
  assert.match(learned()[0] ?? '', /^192\.0\.2\.0\/24 via 172\.31\.1\.1 dev up-a proto bgp metric 86 onlink/);
  await eventually('an answer', () => reaches(far));
  await cluster.setSubnet('ovn-default', { natOutgoing: false });
  await eventually('no NAT', () => !/set nat4 \{[^}]*10\.16/.test(exec('nft', 'list', 'table', 'inet', 'isthmus')));
  assert.ok(reaches(far, 20));
  await cluster.setSubnet('ovn-default', { natOutgoing: true });
  const went = await timed(() => learn(), /\] Deleted 192\.0\.2\.0\/24 via/);
  t.diagnostic(`status to kernel route ${came}, withdrawal ${went}`);
  assert.ok(!reaches(far));
});

test('two next hops share the load, and replies on the other link pass strict rp_filter', async () => {
  await learn(viaA, viaB);
  await eventually('both', () => /192\.0\.2\.0\/24 proto bgp metric 86 .*nexthop.*nexthop/.test(learned().join()));
  const counts = (): number[] => ['up-a', 'up-b'].map(sentOn);
  for (let last = 1; last <= 24; last++)
    for (const space of spaces.values()) exec('ip', '-n', space, 'addr', 'replace', `192.0.2.${last}/32`, 'dev', 'lo');
  const before = counts();
  for (let last = 1; last <= 24; last++) assert.ok(reaches(`192.0.2.${last}`, 20), `192.0.2.${last}`);
  const sent = counts().map((count, index) => count - (before[index] ?? 0));
  assert.ok(
    sent.every((count) => count >= 3),
    sent.join(),
  );
  // Packets leave through router b, and replies return through router a.
  await learn({ ...viaA, preference: 50 }, viaB);
  await eventually('the preferred one alone', () => learned().join().startsWith('192.0.2.0/24 via 172.31.2.1'));
  await cluster.setSubnet('ovn-default', { natOutgoing: false });
  const [a = '', b = ''] = spaces.values();
  exec('ip', 'link', 'add', 'ab', 'netns', b, 'type', 'veth', 'peer', 'name', 'ba', 'netns', a);
  for (const [space, link, address] of [
    [b, 'ab', '172.31.3.2/24'],
    [a, 'ba', '172.31.3.1/24'],
  ] as const) {
    exec('ip', '-n', space, 'addr', 'add', address, 'dev', link);
    exec('ip', '-n', space, 'link', 'set', link, 'up');
    exec('ip', 'netns', 'exec', space, 'sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv4.conf.all.rp_filter=0');
  }
  exec('ip', '-n', b, 'addr', 'add', '192.0.2.200/32', 'dev', 'lo');
  exec('ip', '-n', b, 'route', 'replace', '10.16.0.0/16', 'via', '172.31.3.1');
  await eventually('an answer by the other link', () => reaches('192.0.2.200'));
  exec('ip', '-n', b, 'route', 'replace', '10.16.0.0/16', 'via', '172.31.2.11');
  await cluster.setSubnet('ovn-default', { natOutgoing: true });
});

test('IPv6 prefixes and IPv4 prefixes with an IPv6 next hop are kernel routes', async () => {
  await learn(
    { prefix: '2001:db8::/32', nextHop: 'fd00:31:1::1' },
    { prefix: '2001:db8::/32', nextHop: 'fd00:31:2::1' },
    { prefix: '192.0.2.0/24', nextHop: 'fd00:31:1::1' },
  );
  await eventuallyPasses(() => {
    assert.equal(learned().length, 2);
    assert.match(learned().join('\n'), /^192\.0\.2\.0\/24 via inet6 fd00:31:1::1 dev up-a proto bgp metric 86/m);
    assert.match(learned().join('\n'), /^2001:db8::\/32 proto bgp metric 486.*nexthop.*nexthop/m);
  });
  exec('ping', '-c1', '-W20', farSix);
  exec('ping', '-c1', '-W20', far);
  await learn({ prefix: '2001:db8::/32', nextHop: 'fd00:31:2::1' });
  await eventually('one', () =>
    learned().join().startsWith('2001:db8::/32 via fd00:31:2::1 dev up-b proto bgp metric 486'),
  );
  await learn();
  await eventually('none', () => learned().length === 0);
});

test('routes of other programs with another metric or protocol stay', async () => {
  const others = [
    '192.0.2.0/24 via 172.31.2.1 proto bgp metric 20',
    '192.0.4.0/24 via 172.31.2.1 proto static metric 86',
  ];
  for (const route of others) exec('ip', 'route', 'add', ...route.split(' '));
  await learn(viaA, { ...viaA, prefix: '192.0.4.0/24' });
  await eventually('ours', () => learned().length === 1);
  assert.match(exec('ip', 'route', 'get', far), /via 172\.31\.2\.1/, 'the lower metric');
  await eventually('an event', async () =>
    /192\.0\.4\.0\/24.*EEXIST.*metric 86/.test(
      (await cluster.eventsOn('BgpNodeState', 'n1'))['LearnedRouteRefused'] ?? '',
    ),
  );
  await learn();
  await eventually('none of ours', () => learned().length === 0);
  for (const route of others)
    assert.ok(routes().includes(route.replace(' proto', ' dev up-b proto')), `${route}: ${routes()}`);
  for (const route of others) exec('ip', 'route', 'del', ...route.split(' '));
});

test('prefixes of the cluster and next hops on no link are refused with events', async () => {
  await learn(
    { prefix: '10.16.4.0/24', nextHop: '172.31.1.1' },
    { prefix: '100.64.0.0/16', nextHop: '172.31.1.1' },
    { prefix: '10.0.0.0/8', nextHop: '172.31.1.1' },
    { prefix: '192.0.2.0/24', nextHop: '172.31.9.1' },
  );
  await eventually('the one that is left', () => learned().length === 1);
  assert.match(learned().join(), /^10\.0\.0\.0\/8 /);
  const shown = await eventually('events', async () => {
    const events = await cluster.eventsOn('BgpNodeState', 'n1');
    return 'NextHopUnreachable' in events && 'LearnedRouteRefused' in events ? events : undefined;
  });
  assert.match(shown['NextHopUnreachable'] ?? '', /^next hop 172\.31\.9\.1 of 192\.0\.2\.0\/24 is on no link/);
  assert.match(node.log('daemon'), /172\.31\.9\.1 of 192\.0\.2\.0\/24 is on no link/);
  const { status } = await cluster.admin.get(nodes, { name: 'n1' });
  assert.match(JSON.stringify(status), /"NetworkReady"/, 'the node itself works');
  exec('ip', 'addr', 'add', '172.31.9.11/24', 'dev', 'up-b');
  await eventually('the route', () => learned().join().includes('192.0.2.0/24 via 172.31.9.1 dev up-b'));
  exec('ip', 'addr', 'del', '172.31.9.11/24', 'dev', 'up-b');
  await eventually('no route', () => !learned().join().includes('192.0.2.0/24'));
});

test('deleted or changed routes are restored, and a next hop follows the state of its link', async () => {
  await learn(viaA, viaB, { prefix: '0.0.0.0/0', nextHop: '172.31.1.1' });
  await eventually('two', () => learned().length === 2);
  exec('ip', 'route', 'del', 'default', 'metric', '86');
  exec('ip', 'route', 'replace', '192.0.2.0/24', 'via', '172.31.2.1', 'metric', '86', 'proto', 'bgp');
  await eventually(
    'both again',
    () => /^default via 172.31.1.1/.test(learned().join('\n')) && / nexthop.* nexthop/.test(learned().join()),
  );
  exec('ip', 'link', 'set', 'up-a', 'down');
  await eventually(
    'the other one alone',
    () => learned().join().startsWith('192.0.2.0/24 via 172.31.2.1') && learned().length === 1,
  );
  exec('ip', 'link', 'set', 'up-a', 'up');
  await eventually('both once more', () => / nexthop.* nexthop/.test(learned().join()) && learned().length === 2);
  await eventually('an answer', () => reaches(far));
});

/** Puts another cluster behind the pod, with routes and policies like those of the interconnect. */
async function joinOther(): Promise<void> {
  inPod('ip', 'addr', 'add', '10.32.0.5/32', 'dev', 'lo');
  node.nbctl('lr-route-add ovn-cluster 10.32.0.0/16 10.16.0.21', [
    'lr-policy-add',
    'ovn-cluster',
    '29000',
    'ip4.src == 10.32.0.0/16',
    'reroute',
    '100.64.0.2',
  ]);
  const [apiVersion, metadata] = ['isthmus.network/v1alpha1', { name: 'ts' }];
  await cluster.admin.create(transitSwitches, { apiVersion, kind: 'TransitSwitch', metadata, spec: {} });
  await cluster.admin.create(remoteClusters, { apiVersion, kind: 'RemoteCluster', metadata: { name: 'west' } });
}

async function offer(
  ...prefixes: readonly (readonly [prefix: string, state: RemoteRoute['state'], origin: string])[]
): Promise<void> {
  const routes = prefixes.map(([prefix, state, origin]) => ({ transitSwitch: 'ts', prefix, state, origin }));
  await putRoutes(cluster.admin, remoteRoutes, 'west', routes);
}

/** The daemon's routes and rules for forwarded packets. */
function forwarding(): readonly string[] {
  const lines = [...exec('ip', 'route', 'show', 'table', 'all').split('\n'), ...exec('ip', 'rule').split('\n')];
  return lines.filter((line) => /table 10155|\b3270\d:/.test(line)).map((line) => line.trim().replaceAll(/\s+/g, ' '));
}

const forwarded = [
  '10.32.0.0/16 via 100.64.0.1 dev ovn0 table 10155 proto 155',
  '32700: from all iif ovn0 goto 32702 proto 155',
  '32701: not from all iif lo lookup 10155 proto 155',
  '32702: from all nop proto 155',
];

test('only packets from routers to another cluster enter the overlay', async () => {
  const [a = ''] = spaces.values();
  const hop = '172.31.1.1';
  await learn({ prefix: '0.0.0.0/0', nextHop: hop });
  await eventually('the default route', () => learned().length === 1);
  exec('ip', '-n', a, 'route', 'add', '10.32.0.0/16', 'via', '172.31.1.11');
  const answers = (): boolean => {
    try {
      exec('ip', 'netns', 'exec', a, 'ping', '-c1', '-W1', '-I', far, '10.32.0.5');
      return true;
    } catch {
      return false;
    }
  };
  await joinOther();
  assert.ok(!answers());
  assert.deepEqual(forwarding(), []);
  await offer(
    ['10.32.0.0/16', 'Active', 'connected'],
    ['10.33.0.0/16', 'Backup', 'connected'],
    ['10.34.0.0/16', 'Active', 'bgp'],
    ['10.16.4.0/24', 'Active', 'static'],
  );
  await eventually('the way', () => forwarding().length === forwarded.length);
  assert.deepEqual(forwarding(), forwarded);
  await eventually('an answer', answers);
  assert.equal(readFileSync('/proc/sys/net/ipv4/conf/ovn0/rp_filter', 'utf8').trim(), '2');
  node.start('dump', 'ip', 'netns', 'exec', pod.netns, 'tcpdump', '-nli', 'eth0', 'icmp[icmptype] == icmp-echo');
  await eventually(
    'its own source address, where outgoing packets have the node’s',
    () => answers() && / IP 192\.0\.2\.1 > 10\.32\.0\.5: ICMP echo request/.test(node.log('dump')),
  );
  await node.kill('dump');
  const way = (...from: readonly string[]): string => exec('ip', 'route', 'get', '10.32.0.5', ...from);
  assert.match(way('from', far, 'iif', 'up-a'), /via 100\.64\.0\.1 dev ovn0 table 10155/);
  assert.match(way(), /via 172\.31\.1\.1 dev up-a/, 'the node’s own');
  assert.match(way('from', '10.16.0.21', 'iif', 'ovn0'), /via 172\.31\.1\.1 dev up-a/, 'out of the overlay');
});

test('all of 5,000 prefixes over four paths are forwarded', async () => {
  const prefixes = manyPrefixes(5000);
  const last = prefixes.at(-1) ?? '';
  const [before] = forwarding();
  const table = (): readonly string[] => forwarding().filter((line) => line.startsWith('10.'));
  const put = (down: readonly string[] = []): Promise<void> =>
    putRoutes(cluster.admin, remoteRoutes, 'west', overFourPaths(prefixes, down));
  await put();
  await eventually('all', () => table().length === prefixes.length);
  assert.ok(table().some((line) => line.startsWith(`${last} via 100.64.0.1 dev ovn0 table 10155`)));
  await put([last]);
  await eventually('all but the last', () => table().length === prefixes.length - 1);
  assert.ok(!table().some((line) => line.startsWith(`${last} `)));
  await offer(['10.32.0.0/16', 'Active', 'connected']);
  await eventually('the one of before', () => table().join() === before);
});

test('routes into the overlay are restored, and removed with the prefix, the other cluster or the BgpNodeState', async () => {
  exec('ip', 'rule', 'del', 'priority', '32701');
  exec('ip', 'route', 'flush', 'table', '10155');
  await eventually('all again', () => forwarding().join() === forwarded.join());
  await offer(['10.32.0.0/16', 'Backup', 'connected']);
  await eventually('none', () => forwarding().length === 0);
  await offer(['10.32.0.0/16', 'Active', 'connected']);
  await eventually('all', () => forwarding().join() === forwarded.join());
  await cluster.admin.delete(bgpNodeStates, { name: 'n1' });
  await eventually('none without a speaker', () => forwarding().length === 0);
  const object = { apiVersion: 'isthmus.network/v1alpha1', kind: 'BgpNodeState', metadata: { name: 'n1' } };
  await cluster.admin.create(bgpNodeStates, object);
  await eventually('all with it', () => forwarding().join() === forwarded.join());
  await cluster.admin.delete(remoteClusters, { name: 'west' });
  await eventually('none without the cluster', () => forwarding().length === 0);
  await learn(viaA, viaB, { prefix: '0.0.0.0/0', nextHop: '172.31.1.1' });
  await eventually('what the next test begins with', () => learned().length === 2);
});

test('a daemon restart writes nothing, and deletion of the BgpNodeState removes all routes, also while the daemon is down', async () => {
  const size = (): number => readFileSync(join(node.dir, 'db.conf')).length;
  const [before, seenLines] = [[learned(), size()], monitored().length - 1];
  await node.kill('daemon');
  assert.equal(learned().length, 2, 'without the daemon they stay');
  await node.startDaemon(cluster.kubeconfig);
  await eventually('the node to be looked at', () => node.hasDaemonLogged('NetworkReady'));
  assert.deepEqual([learned(), size()], before);
  assert.deepEqual(
    monitored()
      .slice(seenLines)
      .filter((line) => line.includes('proto bgp')),
    [],
  );
  await cluster.admin.delete(bgpNodeStates, { name: 'n1' });
  await eventually('none', () => learned().length === 0);
  const object = { apiVersion: 'isthmus.network/v1alpha1', kind: 'BgpNodeState', metadata: { name: 'n1' } };
  await cluster.admin.create(bgpNodeStates, object);
  await learn(viaA);
  await eventually('one', () => learned().length === 1);
  await node.kill('daemon');
  await cluster.admin.delete(bgpNodeStates, { name: 'n1' });
  await node.startDaemon(cluster.kubeconfig);
  await eventually('none', () => learned().length === 0);
});

test('learned prefixes that cover lifelines of the node are not installed', async () => {
  const own = ['172.31.1.0/25', '172.31.1.0/24', '172.31.2.1/32', 'fd00:31:2::/80', '10.5.5.10/32'];
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    ports: [{ port: 6443 }],
  };
  const labels = { 'kubernetes.io/service-name': 'kubernetes' };
  const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
  const metadata = { name: 'kubernetes', labels };
  await cluster.admin.request('POST', path, { ...slice, metadata, endpoints: [{ addresses: ['10.5.5.10'] }] });
  const object = { apiVersion: 'isthmus.network/v1alpha1', kind: 'BgpNodeState', metadata: { name: 'n1' } };
  await cluster.admin.patch(bgpNodeStates, { name: 'n1' }, 'apply', object);
  const hops = own.map((prefix) => ({ prefix, nextHop: prefix.includes(':') ? 'fd00:31:2::1' : '172.31.2.1' }));
  await learn(...hops, { ...viaA, prefix: '198.51.100.0/24' });
  await eventually('the one that is harmless', () => learned().length > 0);
  assert.match(learned().join(), /^198\.51\.100\.0\/24 via 172\.31\.1\.1 [^,]*$/);
});

test('a node that loses the API server through a learned route withholds that route', async (t) => {
  addRouter('c', 4);
  const server = '10.5.5.10';
  const prefix = ['ip', 'netns', 'exec', spaces.get('c') ?? ''];
  exec('ip', '-n', spaces.get('c') ?? '', 'addr', 'add', `${server}/32`, 'dev', 'lo');
  const stopLending = await lendPort({ prefix }, cluster.apiPort, server);
  exec('ip', 'route', 'add', 'default', 'via', '172.31.4.1', 'metric', '100');
  // The API server's certificate does not name that address.
  const config = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')) as { clusters: { cluster: object }[] };
  for (const one of config.clusters)
    one.cluster = {
      ...one.cluster,
      server: `https://${server}:${cluster.apiPort}`,
      'tls-server-name': 'kubernetes.default',
    };
  const file = join(node.dir, 'kubeconfig-far');
  writeFileSync(file, JSON.stringify(config));
  try {
    await node.kill('daemon');
    await node.startDaemon(file);
    await eventually('the node to be looked at', () => node.hasDaemonLogged('NetworkReady'));
    const harmless = { ...viaA, prefix: '198.51.100.0/24' };
    const start = Date.now();
    await learn({ prefix: '0.0.0.0/0', nextHop: '172.31.1.1' }, harmless);
    await eventually('a way that leads nowhere', () => learned().length === 2);
    await eventually('the node to free itself', () => learned().length === 1);
    t.diagnostic(`free after ${Date.now() - start} ms`);
    assert.match(learned().join(), /^198\.51\.100\.0\/24/);
    assert.ok(!routes().includes(`${server} via`), 'no detour is left');
    await eventually('an event', async () =>
      (await cluster.admin.list(events, { namespace: 'default' })).some(({ reason }) => reason === 'ApiServerLost'),
    );
    // The write shows that the daemon works; the route stays withheld while it is announced.
    await learn({ prefix: '0.0.0.0/0', nextHop: '172.31.1.1' });
    await eventually('none', () => learned().length === 0);
    await learn({ prefix: '0.0.0.0/0', nextHop: '172.31.1.1' }, { prefix: '0.0.0.0/0', nextHop: '172.31.4.1' });
    await eventually('another next hop', () => learned().join().startsWith('default via 172.31.4.1'));
  } finally {
    await stopLending();
  }
});
