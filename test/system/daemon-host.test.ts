/** The kernel network of a dual-stack node, kept by the daemon's own loop without Open vSwitch, which reverts changes by others. */
import assert from 'node:assert/strict';
import { after, before, mock, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SubnetPlans } from '../../daemon/apply/subnet-plans.ts';
import { KernelHost } from '../../daemon/host/network.ts';
import { keepNetwork } from '../../daemon/host/keep-network.ts';
import type { HostLoop } from '../../daemon/host/loop.ts';
import { Rtnetlink } from '../../daemon/host/rtnetlink.ts';
import { getSysctl } from '../../daemon/host/sysctl.ts';
import { KernelEvents } from '../../daemon/host/kernel-events.ts';
import { rulesetGeneration } from '../../daemon/host/nft-generation.ts';
import type { HostNetwork, HostPart } from '../../daemon/model/host-network.ts';
import type { Subnet } from '../../daemon/model/subnet.ts';
import { planHostNetwork } from '../../daemon/plan/host-network.ts';
import { aSubnet, joinedNode } from '../../daemon/testing-subnets.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { eventually } from '../../lib/testing-eventually.ts';
import { cpuMsOf } from '../../lib/testing-growth.ts';

const node = new TestNode();
const mac = '02:00:64:40:00:02';
const pods = { v4: '10.16.0.0/16', v6: 'fd00:10:16::/112' };
const routeTo = (destination: string, gateway: string, source: string) => ({
  destination,
  gateway,
  source,
  device: 'ovn0',
  table: undefined,
});
const routes = [
  routeTo(pods.v4, '100.64.0.1', '100.64.0.2'),
  routeTo('10.19.0.0/24', '100.64.0.1', '100.64.0.2'),
  routeTo(pods.v6, 'fd00:100:64::1', 'fd00:100:64::2'),
];
const network: HostNetwork = {
  frame: {
    links: [
      {
        name: 'ovn0',
        mac,
        mtu: 1400,
        addresses: ['100.64.0.2/16', 'fd00:100:64::2/112'],
        isMirror: false,
        hasForeignSources: false,
      },
    ],
    tableRoutes: [{ table: 1001, destination: '0.0.0.0/0', gateway: '172.30.9.1', subnet: 'away' }],
    rules: [],
    ruleset: 'set nat4 {\n typeof ip saddr; flags interval;\n}\n',
    sysctls: { 'net/ipv4/ip_forward': '1', 'net/ipv6/conf/all/forwarding': '1' },
  },
  parts: new Map([['subnet pods', { routes, elements: [{ set: 'nat4', network: pods.v4 }] }]]),
};
let netlink: Rtnetlink;
let kernelEvents: KernelEvents;
let host: HostLoop<HostNetwork>;
let wanted = '';

/** The node's network without the kernel's own link-local and multicast entries. */
function state(): string {
  const routes = exec('ip', 'route', 'show', 'table', 'all') + exec('ip', '-6', 'route', 'show', 'table', 'all');
  return [
    ...routes
      .split('\n')
      .filter((line) => /ovn0|proto 155|10\.16\.|fd00:10:/.test(line) && !/fe80|ff00|anycast|broadcast/.test(line))
      .toSorted(),
    exec('ip', '-o', 'addr', 'show', 'dev', 'ovn0', 'scope', 'global'),
    ...['ipv4/conf/ovn0/forwarding', 'ipv6/conf/ovn0/forwarding', 'ipv6/conf/ovn0/disable_ipv6'].map(
      (path) => `${path} ${getSysctl(`net/${path}`)}`,
    ),
    exec('nft', 'list', 'table', 'inet', 'isthmus'),
    ...(host.problems ?? []).map(({ code, message }) => `${code}: ${message}`),
  ].join('\n');
}

before(async () => {
  node.enterNamespace();
  exec('ip', 'link', 'add', 'ovn0', 'address', mac, 'type', 'veth', 'peer', 'name', 'far0');
  exec('ip', 'link', 'set', 'far0', 'up');
  exec('sysctl', '-w', 'net.ipv6.conf.ovn0.disable_ipv6=1');
  exec('ip', '-6', 'route', 'add', 'default', 'via', 'fe80::1', 'dev', 'up0', 'proto', 'ra');
  exec('ip', 'route', 'add', '10.19.0.0/24', 'via', '172.30.9.1');
  netlink = new Rtnetlink();
  kernelEvents = new KernelEvents();
  host = keepNetwork({ netlink, kernelEvents, names: () => ['ovn0'], onAddress: () => undefined });
  host.set(network);
});
after(async () => {
  host.close();
  kernelEvents.close();
  await node.stop();
});

test('an existing route of another program stays, and is reported with a remedy', async () => {
  const problem = await eventually('the problem', () => host.problems?.find(({ code }) => code === 'RouteRefused'));
  assert.equal(
    problem.message,
    'route 10.19.0.0/24: EEXIST; look in "ip route" for a route of another program to the same network',
  );
  exec('ip', 'route', 'del', '10.19.0.0/24', 'via', '172.30.9.1');
  await eventually('no problem', () => host.problems?.length === 0);
  wanted = state();
});

test('a node with a route from a router advertisement still accepts advertisements when it begins to forward', () => {
  assert.equal(getSysctl('net/ipv6/conf/all/forwarding'), '1');
  assert.equal(getSysctl('net/ipv6/conf/up0/accept_ra'), '2');
  assert.equal(getSysctl('net/ipv6/conf/far0/accept_ra'), '1');
});

const [v6, via] = [
  ['-6', 'route'],
  ['dev', 'up0'],
];
const deeds: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'a route replaced by another': [['ip', 'route', 'replace', pods.v4, ...via]],
  'a route replaced by a blackhole': [['ip', 'route', 'replace', 'blackhole', pods.v4]],
  'an IPv6 route replaced by another': [['ip', ...v6, 'replace', pods.v6, ...via]],
  'the default route of an egress gateway replaced by another': [
    ['ip', 'route', 'replace', 'default', 'via', '172.30.9.7', 'table', '1001'],
  ],
  'a route whose metric was changed': [
    ['ip', 'route', 'del', pods.v4],
    ['ip', 'route', 'add', pods.v4, 'via', '100.64.0.1', 'dev', 'ovn0', 'metric', '7', 'proto', '155'],
  ],
  'its routes among foreign routes of its protocol': [
    ['ip', 'route', 'add', pods.v4, ...via, 'metric', '5', 'proto', '155'],
    ['ip', 'route', 'append', pods.v4, ...via, 'proto', '155'],
    ['ip', 'route', 'add', 'blackhole', pods.v4, 'metric', '6', 'proto', '155'],
    ['ip', ...v6, 'add', pods.v6, ...via, 'metric', '5', 'proto', '155'],
    ['ip', ...v6, 'append', pods.v6, 'via', 'fd00:100:64::9', 'dev', 'ovn0', 'proto', '155'],
  ],
  'all IPv4 routes of ovn0': [['ip', 'route', 'flush', 'dev', 'ovn0']],
  'all IPv6 routes of ovn0': [['ip', ...v6, 'flush', 'dev', 'ovn0']],
  'the route to the join network': [['ip', 'route', 'del', '100.64.0.0/16', 'dev', 'ovn0']],
  'the local routes of ovn0': [['ip', 'route', 'flush', 'table', 'local', 'dev', 'ovn0']],
  'the address of ovn0 after a foreign address of the same network': [
    ['ip', 'addr', 'flush', 'dev', 'ovn0'],
    ['ip', 'addr', 'add', '100.64.0.99/16', 'dev', 'ovn0'],
  ],
  'forwarding on ovn0': [['sysctl', '-w', 'net.ipv4.conf.ovn0.forwarding=0', 'net.ipv6.conf.ovn0.forwarding=0']],
  'an element of a set': [['nft', 'delete', 'element', 'inet', 'isthmus', 'nat4', `{ ${pods.v4} }`]],
  'a foreign element': [['nft', 'add', 'element', 'inet', 'isthmus', 'nat4', '{ 192.0.2.1, 198.51.100.0/25 }']],
  'its table of nftables': [['nft', 'delete', 'table', 'inet', 'isthmus']],
  'IPv6 on ovn0': [['sysctl', '-w', 'net.ipv6.conf.ovn0.disable_ipv6=1']],
};
for (const [what, commands] of Object.entries(deeds))
  test(`the daemon restores ${what}`, async () => {
    for (const [program = '', ...args] of commands) exec(program, ...args);
    await eventually('the network to be as before', () => state() === wanted, 30_000).catch((error: unknown) =>
      assert.equal(state(), wanted, String(error)),
    );
  });

/** The network with one more Subnet for each of these networks. */
function withSubnets(...networks: readonly string[]): HostNetwork {
  const parts = networks.map((destination): [string, HostPart] => [
    `subnet ${destination}`,
    {
      routes: [routeTo(destination, '100.64.0.1', '100.64.0.2')],
      elements: [{ set: 'nat4', network: destination }],
    },
  ]);
  return { ...network, parts: new Map([...network.parts, ...parts]) };
}

const lists = (): string => exec('ip', 'route') + exec('nft', 'list', 'set', 'inet', 'isthmus', 'nat4');

test('a change of Subnets writes their routes and elements, and reads nothing of the kernel', async (t) => {
  const reads = (['links', 'addresses', 'placedRoutes', 'rules'] as const).map((name) => t.mock.method(netlink, name));
  const count = (): number => reads.reduce((sum, { mock }) => sum + mock.callCount(), 0);
  // Changes of the tests before may still be looked at.
  let before = -1;
  while (count() !== before) {
    before = count();
    await pause(1500);
  }
  // The second is within the third, and the fourth is next to it.
  host.set(withSubnets('10.64.0.0/24', '10.65.3.0/24', '10.65.0.0/16', '10.66.0.0/16'));
  await eventually('the routes', () => lists().split('10.65').length >= 4 && lists().includes('10.66.0.0/16 via'));
  assert.match(lists(), /elements = \{ 10\.16\.0\.0\/16, 10\.64\.0\.0\/24,\s+10\.65\.0\.0\/16, 10\.66\.0\.0\/16 \}/);
  host.set(withSubnets('10.65.3.0/24'));
  await eventually('one route', () => !lists().includes('10.66') && lists().includes('10.65.3.0/24 via'));
  assert.match(lists(), /elements = \{ 10\.16\.0\.0\/16, 10\.65\.3\.0\/24 \}/);
  host.set(network);
  await eventually('the network to be as before', () => state() === wanted);
  await pause(200);
  assert.equal(count(), before);
});

test('a deleted route and element of a Subnet that was added alone come back', async () => {
  host.set(withSubnets('10.64.0.0/24'));
  await eventually('the route', () => lists().includes('10.64.0.0/24 via'));
  const all = lists();
  exec('ip', 'route', 'del', '10.64.0.0/24');
  await eventually('the route again', () => lists() === all);
  exec('nft', 'flush', 'set', 'inet', 'isthmus', 'nat4');
  await eventually('the elements again', () => lists() === all);
});

test('another process writes nothing where it finds what is wanted', async () => {
  const before = await rulesetGeneration();
  const setRoute = mock.method(netlink, 'setRoute');
  assert.deepEqual(await new KernelHost(netlink).set(withSubnets('10.64.0.0/24')), []);
  assert.equal(setRoute.mock.callCount(), 0);
  assert.equal(await rulesetGeneration(), before);
});

test('a change of one Subnet costs the same among 10 and among 1,000', async (context) => {
  const plans = new SubnetPlans();
  const kernel = new KernelHost(netlink);
  const subnetsOf = (count: number): readonly Subnet[] =>
    Array.from({ length: count }, (_, at) => aSubnet(`s${at}`, `10.${64 + (at >> 8)}.${at & 255}.0/24`));
  const set = async (subnets: readonly Subnet[]): Promise<void> => {
    const input = {
      node: joinedNode,
      subnets,
      mtu: 1400,
      addresses: [],
      otherNodes: [],
      mirrorInterface: '',
      forwarding: { isSpeaker: false, vpcs: new Map<string, string>(), remotes: [] },
      hasServices: false,
      routedNetworks: new Set<string>(),
    };
    assert.deepEqual(await kernel.set(planHostNetwork(input, (subnet, facts) => plans.of(subnet, facts)).network), []);
  };
  host.close();
  const least = async (count: number): Promise<number> => {
    const subnets = subnetsOf(count);
    await set(subnets);
    const times: number[] = [];
    for (let at = 0; at < 10; at += 1) {
      times.push(await cpuMsOf(() => set([...subnets, aSubnet('more', '10.200.0.0/24', true)])));
      assert.match(lists(), /10\.200\.0\.0\/24 via 100\.64\.0\.1 dev ovn0/);
      times.push(await cpuMsOf(() => set(subnets)));
      assert.doesNotMatch(lists(), /10\.200/);
    }
    return Math.min(...times);
  };
  const [ten, thousand] = [await least(10), await least(1000)];
  context.diagnostic(`${thousand.toFixed(1)} ms of CPU among 1,000, ${ten.toFixed(1)} ms among 10`);
  // Reading all routes and elements would be a hundred times as much; both contain the start of a process.
  assert.ok(thousand < 3 * ten + 1, `${thousand} ms, ${ten} ms`);
});
