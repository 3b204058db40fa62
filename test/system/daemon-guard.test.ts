/**
 * Frames that a pod may not send, as raw frames on a real bridge: the guard flows of its port drop them independent of OVN, and pass all
 * frames that pods need. The switch has a stateful ACL, with which OVN passes router advertisements before any ACL.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { exec, TestNode } from '../../daemon/testing.ts';
import { annotation } from '../../lib/api/names.ts';
import { subnets } from '../../lib/kube/resources.ts';
import { FrameBed, type Watcher } from './frame-bed.ts';
import * as frames from './frames.ts';
import {
  everybody,
  inTags,
  ip,
  mac,
  ofBridges,
  ofPods,
  ofRouters,
  routerMac,
  toAll,
  toVictim4,
  victimIp,
  victimMac,
  type Frames,
} from './pod-frames.ts';
import { eventually } from '../../lib/testing-eventually.ts';

const node = new TestNode();
let cluster: TestCluster;
let [attacker, victim]: readonly TestPod[] = [];
let bed: FrameBed;
let watcher: Watcher;

const acls = [
  ['acl-add', 'ovn-default', 'to-lport', '1000', 'ip', 'allow-related'],
  ['acl-add', 'ovn-default', 'from-lport', '32767', 'ip', 'allow-related'],
];
/** The upper half of the guard flows' cookies, followed by zeros. */
const ofGuards = '0x6973746800000000';

before(async () => {
  cluster = await startCluster(node);
  node.nbctl(...acls);
  bed = new FrameBed(node.dir);
  await node.startDaemon(cluster.kubeconfig);
  attacker = await addPod('attacker', ip);
  victim = await addPod('victim', victimIp);
  watcher = await bed.watch(victim);
});

after(async () => {
  await (bed as FrameBed | undefined)?.close();
  await node.stop();
  await (cluster as TestCluster | undefined)?.stop();
});

async function addPod(name: string, address: string): Promise<TestPod> {
  const made = await cluster.makePod(name);
  await cluster.allocate(made, address);
  const { status, json } = await node.cni('ADD', made.env);
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}`);
  return made;
}

/** The names of the frames that reach the victim. */
function arriving(all: Frames): Promise<readonly string[]> {
  return bed.arriving(attacker!, mac, watcher, all);
}

test('frames that only routers, DHCP servers and bridges send do not arrive', async () => {
  assert.deepEqual(await arriving({ ...inTags(), ...ofBridges(), ...ofRouters() }), []);
});

test('frames that pods need arrive', async () => {
  const all = ofPods();
  assert.deepEqual(await arriving(all), Object.keys(all));
});

test('a fragmented datagram between pods arrives', async () => {
  const path = join(node.dir, 'datagram');
  const text = 'datagram'.repeat(500);
  node.start(
    'listener',
    'ip',
    'netns',
    'exec',
    victim!.netns,
    'socat',
    '-u',
    '-b5000',
    'UDP-RECV:5000',
    `CREATE:${path}`,
  );
  await eventually('the datagram', () => {
    const target = `UDP-SENDTO:${victimIp}:5000`;
    execFileSync('ip', ['netns', 'exec', attacker!.netns, 'socat', '-u', '-b5000', 'STDIN', target], { input: text });
    return existsSync(path) && readFileSync(path, 'utf8').startsWith(text);
  });
  assert.ok(watcher.frames.length > 0 && watcher.frames.every((frame) => frame.length < 2 * 1500));
});

test('OVN’s own router advertisements and DHCP answers arrive', async () => {
  const options = 'router=10.16.0.1 lease_time=3600 server_id=169.254.0.254 server_mac=0e:00:00:00:00:01';
  node.nbctl(
    ['--id=@o', 'create', 'dhcp_options', 'cidr=10.16.0.0/16', ...options.split(' ').map((one) => `options:${one}`)],
    ['set', 'logical_switch_port', 'victim.default', 'dhcpv4_options=@o'],
    'set logical_router_port ovn-cluster-ovn-default ipv6_ra_configs:address_mode=slaac',
    ['add', 'logical_router_port', 'ovn-cluster-ovn-default', 'networks', 'fd00\\:\\:1/64'],
  );
  const [rs, discover] = [
    frames.icmp6Frame(
      { mac: victimMac, ip: frames.linkLocal(victimMac), toMac: '33:33:00:00:00:02', to: 'ff02::2' },
      133,
      Buffer.alloc(4),
    ),
    frames.udp4({ mac: victimMac, ...everybody, ip: '0.0.0.0' }, 68, 67, frames.dhcp(1, 1, victimMac)),
  ];
  // ovn-controller answers once it has installed the flows.
  await eventually('an advertisement', () => {
    bed.send(victim!, rs);
    return watcher.frames.some(
      (frame) => frame.slice(12, 28) === `${routerMac.replaceAll(':', '')}86dd` && frame.slice(108, 110) === '86',
    );
  });
  await eventually('an offer', () => {
    bed.send(victim!, discover);
    return watcher.frames.some((frame) => frame.slice(12, 24) === '0e0000000001');
  });
});

test('a pod accepts router advertisements only if its subnet has them, and never redirects', async () => {
  const settings = ({ netns }: TestPod): string => {
    const names = [
      'ipv6.conf.eth0.accept_ra',
      'ipv6.conf.eth0.accept_redirects',
      'ipv4.conf.eth0.accept_redirects',
      'ipv4.conf.all.accept_redirects',
    ];
    return exec('ip', 'netns', 'exec', netns, 'sysctl', '-n', ...names.map((name) => `net.${name}`))
      .trim()
      .split('\n')
      .join('');
  };
  assert.equal(settings(victim!), '0000');
  await cluster.setSubnet('ovn-default', { enableIPv6RA: true });
  let tries = 0;
  await eventually('a pod that takes them', async () => {
    const pod = await addPod(`ra${++tries}`, `10.16.0.${40 + tries}`);
    return settings(pod) === '1000';
  });
  await cluster.setSubnet('ovn-default', { enableIPv6RA: false });
});

test('the hostile frames arrive without the guard flows if OVN has no ACL and passes tags', async () => {
  node.nbctl('acl-del ovn-default', 'set logical_switch ovn-default other_config:vlan-passthru=true');
  const all = { ...inTags(), ...ofBridges(), ...ofRouters() };
  node.signal('daemon', 'SIGSTOP');
  ofctl('del-flows', `cookie=${ofGuards}/0xffffffff00000000`);
  await until(() => arriving(all), Object.keys(all));
  node.signal('daemon', 'SIGCONT');
  await until(() => arriving(all), []);
  const harmless = ofPods();
  assert.deepEqual(await arriving(harmless), Object.keys(harmless));
  node.nbctl('remove logical_switch ovn-default other_config vlan-passthru', ...acls);
});

test('the guard flows survive restarts of ovn-controller, ovs-vswitchd and the daemon, and are restored after deletion', async () => {
  const hostile = {
    RA: frames.routerAdvertisement(toAll),
    offer: frames.udp4(toVictim4, 67, 68, frames.dhcp(2, 2, victimMac)),
    'offer in fragments': ofRouters()['DHCPv4 to one in large fragments']!,
  };
  const count = (): number => ofctl('dump-flows').split('cookie=0x69737468').length - 1;
  const before = count();
  const isBack = (): Promise<boolean> => eventually('the flows', () => existsSync(bridge()) && count() === before);
  ofctl('del-flows');
  await isBack();
  await node.kill('ovn-controller');
  node.startController();
  await isBack();
  // Like ovn-controller if it read the setting before the daemon changed it. The command fails if the daemon restores it at once.
  spawnSync('ovs-ofctl', ['-O', 'OpenFlow15', 'set-frags', `unix:${bridge()}`, 'normal']);
  await eventually('the setting for pieces', () => ofctl('get-frags').trim() === 'nx-match');
  await bed.untilPassing(attacker!, mac, watcher);
  assert.deepEqual(await arriving(hostile), []);
  await node.kill('daemon');
  assert.deepEqual(await arriving(hostile), []);
  await node.startDaemon(cluster.kubeconfig);
  assert.equal(count(), before);
  await node.kill('vswitchd');
  rmSync(bridge());
  node.startVswitchd();
  await isBack();
  await bed.untilPassing(attacker!, mac, watcher);
  assert.deepEqual(await arriving(hostile), []);
});

test('only the Subnet’s annotation permits pods to act as routers, not annotations of the pod', async () => {
  const hostile = ofRouters();
  const names = [
    'RA to all',
    'RA behind many',
    'DHCPv4 to all',
    'DHCPv6 to one',
    'IGMP to 224.0.0.1',
    'PIM of IPv4',
    'MLD query',
    'ARP of the router',
  ];
  // OVN's connection tracking treats a redirect without a matching connection as invalid.
  const some = Object.fromEntries(names.map((name) => [name, hostile[name]!]));
  const allow = (value: string | null) =>
    cluster.admin.patch(subnets, { name: 'ovn-default' }, 'merge', {
      metadata: { annotations: { [annotation.routerNamespaces]: value } },
    });
  await cluster.forge(attacker!, {
    [annotation.routerNamespaces]: 'default',
    [annotation.logicalSwitch]: 'join',
  });
  await cluster.admin.patch(subnets, { name: 'join' }, 'merge', {
    metadata: { annotations: { [annotation.routerNamespaces]: '*' } },
  });
  await allow('others');
  await until(() => arriving(some), []);
  await cluster.annotatePod(attacker!, { [annotation.logicalSwitch]: 'ovn-default' });
  await allow('others, default');
  await until(() => arriving(some), names);
  assert.deepEqual(await arriving({ ...inTags(), ...ofBridges() }), []);
  await allow('Not a name');
  await until(() => arriving(some), []);
  await eventually('an event', async () => (await cluster.eventsOn('Subnet', 'ovn-default'))['InvalidAnnotation']);
});

test('an interface with a logical port but without a sandbox is guarded too', async () => {
  const space = node.addNamespace('foreign');
  exec('ip', 'link', 'add', 'tap9', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
  exec('ip', 'link', 'set', 'tap9', 'up');
  exec('ip', '-n', space, 'link', 'set', 'eth0', 'up');
  node.nbctl('lsp-add ovn-default foreign', ['lsp-set-addresses', 'foreign', '02:00:00:00:00:99 10.16.0.99']);
  node.vsctl('add-port', 'br-int', 'tap9', '--', 'set', 'interface', 'tap9', 'external_ids:iface-id=foreign');
  const mark = frames.marker('02:00:00:00:00:99', 'foreign');
  const ra = frames.routerAdvertisement({ ...toAll, mac: '02:00:00:00:00:99' });
  // The guard flows are installed before ovn-controller passes any frame.
  await eventually('a frame of it', () => {
    bed.send({ netns: space }, ra, mark);
    return watcher.has(mark);
  });
  assert.equal(watcher.has(ra), false);
});

/** Repeats `ask` until the answer is as expected. */
async function until<T>(ask: () => Promise<T>, expected: T): Promise<void> {
  let last: T | undefined;
  const isSo = async (): Promise<boolean> => isDeepStrictEqual((last = await ask()), expected);
  await eventually('the answer', isSo).catch(() => assert.deepEqual(last, expected));
}

function bridge(): string {
  return join(node.dir, 'br-int.mgmt');
}

function ofctl(command: string, ...args: readonly string[]): string {
  return exec('ovs-ofctl', '-O', 'OpenFlow15', command, `unix:${bridge()}`, ...args);
}
