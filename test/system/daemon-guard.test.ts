/**
 * What a pod may not send, as raw frames on a real bridge: its port passes none of it, whatever OVN would do, and all that pods need.
 * The switch has a stateful ACL, with which OVN passes router advertisements before it looks at any ACL.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { startCluster, type TestCluster, type TestPod } from '../../daemon/testing-cluster.ts';
import { eventually, exec, TestNode } from '../../daemon/testing.ts';
import { annotation } from '../../lib/api/names.ts';
import { subnets } from '../../lib/kube/resources.ts';
import * as frames from './frames.ts';
import { allNodes, extension } from './frames.ts';

const node = new TestNode();
let cluster: TestCluster;
let [attacker, victim]: readonly TestPod[] = [];
let watcher: Watcher;

const mac = '02:00:00:00:00:21';
const [ip, victimIp] = ['10.16.0.21', '10.16.0.22'];
const [victimMac, routerMac] = ['02:00:00:00:00:22', '02:00:00:00:01:02'];
const everybody = { toMac: 'ff:ff:ff:ff:ff:ff', to: '255.255.255.255' };
const own = frames.linkLocal(mac);
const toAll = { mac, ip: own, ...allNodes };
const toVictim = { mac, ip: own, toMac: victimMac, to: frames.linkLocal(victimMac) };
/** Port security is off: the ports of this test have none. */
const asRouter = { ...toVictim, ip: frames.linkLocal(routerMac), mac: routerMac };
const toVictim4 = { mac, ip, toMac: victimMac, to: victimIp };
const nothing = Buffer.alloc(0);
/** Open vSwitch takes no smaller first pieces. */
const largest = 1272;

function long(payload: Buffer): Buffer {
  return Buffer.concat([payload, Buffer.alloc(1500 - payload.length)]);
}

before(async () => {
  cluster = await startCluster(node);
  node.nbctl(
    ['acl-add', 'ovn-default', 'to-lport', '1000', 'ip', 'allow-related'],
    ['acl-add', 'ovn-default', 'from-lport', '32767', 'ip', 'allow-related'],
  );
  exec('cc', '-static', '-Os', '-o', program(), join(import.meta.dirname, 'frames.c'));
  await node.startDaemon(cluster.kubeconfig);
  attacker = await addPod('attacker', ip);
  victim = await addPod('victim', victimIp);
  watcher = await Watcher.open(victim);
});

after(async () => {
  await watcher?.close();
  await node.stop();
  await cluster?.stop();
});

function program(): string {
  return join(node.dir, 'frames');
}

async function addPod(name: string, address: string): Promise<TestPod> {
  const made = await cluster.makePod(name);
  await cluster.allocate(made, address);
  const { status, json } = await node.cni('ADD', made.env);
  assert.equal(status, 0, `${JSON.stringify(json)}\n${node.log('daemon')}`);
  return made;
}

/** What arrives at a pod, frame by frame. */
class Watcher {
  readonly frames: string[] = [];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async open({ netns }: TestPod): Promise<Watcher> {
    const child = spawn('ip', ['netns', 'exec', netns, program(), 'watch', 'eth0'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const watcher = new Watcher(child);
    const ready = Promise.withResolvers<void>();
    createInterface(child.stdout).on('line', (line) =>
      line === 'ready' ? ready.resolve() : watcher.frames.push(line),
    );
    await ready.promise;
    return watcher;
  }

  async close(): Promise<void> {
    this.#child.kill();
    await once(this.#child, 'close');
  }
}

function send({ netns }: Pick<TestPod, 'netns'>, ...all: readonly Buffer[]): void {
  const input = all.map((frame) => `${frame.toString('hex')}\n`).join('');
  execFileSync('ip', ['netns', 'exec', netns, program(), 'send', 'eth0'], {
    input,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

let markers = 0;

/** Resolves when frames pass, which they do not while flows are away. */
async function untilPassing(): Promise<void> {
  const mark = frames.marker(mac, `marker ${++markers}`);
  await eventually('a frame passes', () => {
    send(attacker!, mark);
    return watcher.frames.includes(mark.toString('hex'));
  });
}

/** Which of these arrive at the victim; what is sent after them has arrived by then. */
async function arriving(all: Readonly<Record<string, Buffer | readonly Buffer[]>>): Promise<readonly string[]> {
  const mark = frames.marker(mac, `marker ${++markers}`);
  watcher.frames.length = 0;
  send(attacker!, ...Object.values(all).flat(), mark);
  await eventually('the marker', () => watcher.frames.includes(mark.toString('hex')));
  const isThere = (frame: Buffer): boolean => watcher.frames.includes(frame.toString('hex'));
  return Object.keys(all).filter((name) => [all[name]!].flat().some(isThere));
}

/** From a pod that would be a bridge, or is in another VLAN. */
function ofBridges(): Readonly<Record<string, Buffer | readonly Buffer[]>> {
  const payload = Buffer.alloc(46, 1);
  const reserved = ['01:80:c2:00:00:00', '01:80:c2:00:00:02', '01:80:c2:00:00:0e', '01:80:c2:00:00:21'];
  const plain = frames.ethernet(victimMac, mac, 0x88b5, payload);
  return {
    ...Object.fromEntries(reserved.map((to) => [to, frames.ethernet(to, mac, 0x0026, payload)])),
    'LLDP to all': frames.ethernet(everybody.toMac, mac, 0x88cc, payload),
    'LLDP to one': frames.ethernet(victimMac, mac, 0x88cc, payload),
    CDP: frames.ethernet('01:00:0c:cc:cc:cc', mac, 0x0026, payload),
    'priority tag': frames.tagged(plain, [0x8100, 0]),
    '802.1Q': frames.tagged(plain, [0x8100, 10]),
    '802.1ad': frames.tagged(plain, [0x88a8, 10], [0x8100, 20]),
    'RA in a priority tag': frames.tagged(frames.routerAdvertisement(toAll), [0x8100, 0]),
    'RA in two tags': frames.tagged(frames.routerAdvertisement(toAll), [0x88a8, 0], [0x8100, 0]),
  };
}

/** From a pod that would be the router or the DHCP server of others. */
function ofRouters(): Readonly<Record<string, Buffer | readonly Buffer[]>> {
  const { hopByHop, routing, destinationOptions, fragment } = extension;
  const options = [hopByHop, routing, destinationOptions];
  const message = frames.icmp6Message(toAll, 134, 0, frames.advertisement(toAll));
  const behindOptions = Buffer.concat([frames.extensionHeader(destinationOptions, 58), message]);
  const offer = frames.dhcp(2, 2, victimMac);
  const answer = Buffer.from('0200123400010004', 'hex');
  const redirect = Buffer.concat([Buffer.from('0a100015', 'hex'), Buffer.alloc(28, 0x45)]);
  const targets = Buffer.concat([Buffer.alloc(4), Buffer.alloc(32, 0xfe)]);
  const global = { ...toVictim, ip: 'fd00::21' };
  const globalToAll = { ...toAll, ip: 'fd00::21' };
  return {
    'RA to all': frames.routerAdvertisement(toAll),
    'RA to one': frames.routerAdvertisement(toVictim),
    'RA of the router': frames.routerAdvertisement(asRouter),
    'RA of another code': frames.ipv6(toAll, 58, frames.icmp6Message(toAll, 134, 1, frames.advertisement(toAll))),
    ...Object.fromEntries(options.map((one) => [`RA behind ${one}`, frames.routerAdvertisement(toAll, [one])])),
    'RA behind many': frames.routerAdvertisement(toAll, [hopByHop, destinationOptions, routing, destinationOptions]),
    'RA in an atomic fragment': frames.routerAdvertisement(toAll, [fragment]),
    'RA in fragments': frames.ipv6Fragments(toAll, 58, message, 16),
    'RA behind options in the second fragment': frames.ipv6Fragments(toAll, destinationOptions, behindOptions, 8),
    'redirect of IPv6': frames.icmp6Frame(toVictim, 137, targets),
    'redirect of IPv6, of the router': frames.icmp6Frame(asRouter, 137, targets),
    'redirect of IPv4': frames.icmp4(toVictim4, 5, redirect),
    'redirect of IPv4, of the router': frames.icmp4({ ...toVictim4, mac: routerMac, ip: '10.16.0.1' }, 5, redirect),
    'RA of RFC 1256': frames.icmp4({ ...toVictim4, ...everybody }, 9, Buffer.from('01020708', 'hex')),
    'DHCPv4 to all': frames.udp4({ ...toVictim4, ...everybody }, 67, 68, offer),
    'DHCPv4 to one': frames.udp4(toVictim4, 67, 68, offer),
    'DHCPv4 of another port': frames.udp4({ ...toVictim4, ...everybody }, 1067, 68, offer),
    'DHCPv4 in fragments': frames.udp4Fragments({ ...toVictim4, ...everybody }, [67, 68], offer, 8),
    'DHCPv6 to one': frames.udp6(toVictim, 547, 546, answer),
    'DHCPv6 of another port': frames.udp6(toVictim, 1547, 546, answer),
    'DHCPv6 of a global address': frames.udp6(global, 547, 546, answer),
    'DHCPv6 in fragments': frames.ipv6Fragments(global, 17, frames.udp6Message(global, 547, 546, answer), 8),
    'DHCPv6 to all in fragments': frames.ipv6Fragments(
      globalToAll,
      17,
      frames.udp6Message(globalToAll, 547, 546, answer),
      8,
    ),
    'ARP of the router': frames.gratuitousArp(mac, '10.16.0.1'),
    'an answer of the router': frames.icmp4({ ...toVictim4, ip: '10.16.0.1' }, 0, Buffer.alloc(8)),
  };
}

/** What every pod sends. */
function ofPods(): Readonly<Record<string, Buffer | readonly Buffer[]>> {
  const global = { ...toVictim, ip: 'fd00::21', to: 'fd00::22' };
  const neighbour = Buffer.from(`00000000fe8000000000000000000000fe000022`, 'hex');
  return {
    'neighbour solicitation': frames.icmp6Frame(toVictim, 135, neighbour),
    'neighbour advertisement': frames.icmp6Frame(toVictim, 136, neighbour),
    'router solicitation': frames.icmp6Frame(toAll, 133, Buffer.alloc(4)),
    'MLD report': frames.icmp6Frame(toAll, 143, Buffer.alloc(4), [extension.hopByHop]),
    'ARP of its own': frames.gratuitousArp(mac, ip),
    'echo request': frames.icmp4(toVictim4, 8, Buffer.alloc(8)),
    'DHCPv4 client': frames.udp4({ ...toVictim4, ...everybody, ip: '0.0.0.0' }, 68, 67, frames.dhcp(1, 1, mac)),
    'DHCPv6 client': frames.udp6(toAll, 546, 547, Buffer.from('0100123400010004', 'hex')),
    UDP: frames.udp4(toVictim4, 67, 69, Buffer.alloc(8)),
    'UDP in fragments': frames.udp4Fragments(toVictim4, [67, 69], long(nothing), largest),
    'UDP of IPv6 in fragments': frames.ipv6Fragments(
      global,
      17,
      frames.udp6Message(global, 1, 2, long(nothing)),
      largest,
    ),
  };
}

test('of all that only routers, DHCP servers and bridges send, nothing arrives', async () => {
  assert.deepEqual(await arriving({ ...ofBridges(), ...ofRouters() }), []);
});

test('all that pods need arrives', async () => {
  const all = ofPods();
  assert.deepEqual(await arriving(all), Object.keys(all));
});

test('OVN still answers: router advertisements and DHCP', async () => {
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
  // ovn-controller answers once it has the flows of it.
  await eventually('an advertisement', () => {
    send(victim!, rs);
    return watcher.frames.some(
      (frame) => frame.slice(12, 28) === `${routerMac.replaceAll(':', '')}86dd` && frame.slice(108, 110) === '86',
    );
  });
  await eventually('an offer', () => {
    send(victim!, discover);
    return watcher.frames.some((frame) => frame.slice(12, 24) === '0e0000000001');
  });
});

test('a pod takes no advertisement and no redirect, unless its subnet has them', async () => {
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
  await eventually('a pod that takes them', async () => {
    const pod = await addPod(`ra${++markers}`, `10.16.0.${40 + markers}`);
    return settings(pod) === '1000';
  });
  await cluster.setSubnet('ovn-default', { enableIPv6RA: false });
});

test('it stays so: over a restart of ovn-controller, of ovs-vswitchd and of the daemon, and when somebody deletes flows', async () => {
  const hostile = {
    RA: frames.routerAdvertisement(toAll),
    offer: frames.udp4(toVictim4, 67, 68, frames.dhcp(2, 2, victimMac)),
  };
  const count = (): number => ofctl('dump-flows').split('cookie=0x69737468').length - 1;
  const before = count();
  const isBack = (): Promise<boolean> => eventually('the flows', () => existsSync(bridge()) && count() === before);
  ofctl('del-flows');
  await isBack();
  await node.kill('ovn-controller');
  node.startController();
  await isBack();
  await untilPassing();
  assert.deepEqual(await arriving(hostile), []);
  await node.kill('daemon');
  assert.deepEqual(await arriving(hostile), []);
  await node.startDaemon(cluster.kubeconfig);
  assert.equal(count(), before);
  await node.kill('vswitchd');
  rmSync(bridge());
  node.startVswitchd();
  await isBack();
  await untilPassing();
  assert.deepEqual(await arriving(hostile), []);
});

test('a Subnet says whose pods may be routers; what the pod says of itself counts nothing', async () => {
  const hostile = ofRouters();
  const names = ['RA to all', 'RA behind many', 'DHCPv4 to all', 'DHCPv6 to one', 'ARP of the router'];
  // A redirect of nothing is invalid to OVN's connection tracking.
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
  assert.deepEqual(await arriving(ofBridges()), []);
  await allow('Not a name');
  await until(() => arriving(some), []);
  await eventually('an event', async () => (await cluster.eventsOn('Subnet', 'ovn-default'))['InvalidAnnotation']);
});

test('an interface with a logical port that no sandbox has is guarded as well', async () => {
  const space = node.addNamespace('foreign');
  exec('ip', 'link', 'add', 'tap9', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
  exec('ip', 'link', 'set', 'tap9', 'up');
  exec('ip', '-n', space, 'link', 'set', 'eth0', 'up');
  node.nbctl('lsp-add ovn-default foreign', ['lsp-set-addresses', 'foreign', '02:00:00:00:00:99 10.16.0.99']);
  node.vsctl('add-port', 'br-int', 'tap9', '--', 'set', 'interface', 'tap9', 'external_ids:iface-id=foreign');
  const mark = frames.marker('02:00:00:00:00:99', 'foreign');
  const ra = frames.routerAdvertisement({ ...toAll, mac: '02:00:00:00:00:99' });
  // The guard is there before ovn-controller lets anything pass.
  await eventually('a frame of it', () => {
    send({ netns: space }, ra, mark);
    return watcher.frames.includes(mark.toString('hex'));
  });
  assert.equal(watcher.frames.includes(ra.toString('hex')), false);
});

/** Asks again until the answer is the expected one. */
async function until<T>(ask: () => Promise<T>, expected: T): Promise<void> {
  let last: T | undefined;
  const isSo = async (): Promise<boolean> => isDeepStrictEqual((last = await ask()), expected);
  await eventually('the answer', isSo, 30_000).catch(() => assert.deepEqual(last, expected));
}

function bridge(): string {
  return join(node.dir, 'br-int.mgmt');
}

function ofctl(command: string): string {
  return exec('ovs-ofctl', '-O', 'OpenFlow15', command, `unix:${bridge()}`);
}
