/** The kernel network of a dual-stack node, kept by the daemon's own loop without Open vSwitch, which reverts changes by others. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KernelHost } from '../../daemon/host/network.ts';
import { HostLoop } from '../../daemon/host/loop.ts';
import { Rtnetlink } from '../../daemon/host/rtnetlink.ts';
import { getSysctl } from '../../daemon/host/sysctl.ts';
import { KernelEvents } from '../../daemon/host/kernel-events.ts';
import { watchHost } from '../../daemon/host/watch-host.ts';
import type { HostNetwork } from '../../daemon/model/host-network.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { eventually } from '../../lib/testing-eventually.ts';

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
const network: HostNetwork = {
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
  routes: [
    routeTo(pods.v4, '100.64.0.1', '100.64.0.2'),
    routeTo('10.19.0.0/24', '100.64.0.1', '100.64.0.2'),
    routeTo(pods.v6, 'fd00:100:64::1', 'fd00:100:64::2'),
  ],
  tableRoutes: [{ table: 1001, destination: '0.0.0.0/0', gateway: '172.30.9.1', subnet: 'away' }],
  rules: [],
  ruleset: '',
  sysctls: { 'net/ipv4/ip_forward': '1', 'net/ipv6/conf/all/forwarding': '1' },
};
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
  const netlink = new Rtnetlink();
  const kernel = new KernelHost(netlink);
  kernelEvents = new KernelEvents();
  host = new HostLoop({
    host: kernel,
    watch: (onChange) =>
      watchHost(kernelEvents, {
        names: ['ovn0'],
        used: () => kernel.used,
        concerns: (route) => kernel.concerns(route),
        onChange,
        onAddress: () => undefined,
      }),
  });
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
  'IPv6 on ovn0': [['sysctl', '-w', 'net.ipv6.conf.ovn0.disable_ipv6=1']],
};
for (const [what, commands] of Object.entries(deeds))
  test(`the daemon restores ${what}`, async () => {
    for (const [program = '', ...args] of commands) exec(program, ...args);
    await eventually('the network to be as before', () => state() === wanted, 5000).catch((error: unknown) =>
      assert.equal(state(), wanted, String(error)),
    );
  });
