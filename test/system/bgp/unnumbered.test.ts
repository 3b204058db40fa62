/** Unnumbered peers: the router on a link is found by its link-local address, and lost when the link is renamed. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { BgpNodeStateStatus } from '../../../lib/api/kinds/bgp-node-state.ts';
import {
  bgpAdvertisements,
  bgpInstances,
  bgpNodeStates,
  bgpPeers,
  routePolicies,
  secrets,
} from '../../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { FrrPeer } from './frr.ts';
import { end } from './namespace.ts';
import { onlyGobgpd4 } from './only-gobgpd-4.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let tor: FrrPeer;
let other: FrrPeer;
let advertiser: ChildProcess | undefined;
const [v4, v6] = ['10.16.0.0/16', 'fd00:10:16::/64'];
const announces = ['198.51.100.0/24', 'fd00:99::/64'];

before(async () => {
  bed = await openSpeakerBed(
    [
      { kind: 'frr', name: 'other', asn: 65102 },
      { kind: 'frr', name: 'tor', asn: 65101, isUnnumbered: true, announces, hasBfd: true },
      { kind: 'raw', name: 'mute', asn: 65103, isUnnumbered: true },
    ],
    true,
  );
  [tor, other] = [bed.lab.frr('tor'), bed.lab.frr('other')];
  const [program = '', ...argv] = bed.lab.node.prefix;
  const script = join(import.meta.dirname, 'advertise.ts');
  advertiser = spawn(program, [...argv, process.execPath, script, 'tor', 'leaf', 'mute'], { stdio: 'inherit' });
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' });
  await bed.createSubnet('ovn-default', `${v4},${v6}`);
  // Messages on a link that goes down may be lost, and the router would then retain the routes of the former session.
  await bed.create(bgpInstances, 'rack', { localASN: 65001, gracefulRestart: { restartTimeSeconds: 1 } });
  await bed.createPeer(other, 4);
  await untilRoutes(other, [v4]);
});

after(async () => {
  if (advertiser) await end(advertiser);
  await (bed as SpeakerBed | undefined)?.close();
});

async function create(name: string, device: string, spec: object = {}): Promise<void> {
  const timers = { holdTimeSeconds: 9, keepaliveSeconds: 3 };
  await bed.create(bgpPeers, name, { instance: 'rack', interface: device, asn: 65101, ...timers, ...spec });
}

async function nodeState(): Promise<BgpNodeStateStatus> {
  const { status = {} } = (await bed.kube.get(bgpNodeStates, { name: 'n1' })) as { status?: BgpNodeStateStatus };
  return status;
}

/** The link-local address of a device. */
function linkLocal(of: { run(...argv: string[]): string }, device: string): string {
  const text = of.run('ip', '-j', '-6', 'addr', 'show', 'dev', device, 'scope', 'link');
  const [link] = JSON.parse(text) as { addr_info: { local: string }[] }[];
  return link?.addr_info[0]?.local ?? '';
}

async function untilRoutesInstalled(): Promise<void> {
  const node = linkLocal(bed.lab.node, 'tor');
  await untilRoutes(tor, [v4]);
  await untilRoutes(tor, [v6], 6);
  await eventuallyPasses(() => assert.deepEqual([tor.fib()[v4], tor.fib(6)[v6]], [[node], [node]]));
}

test('an unnumbered session carries both families with the link-local next hop into bgpd and the kernel', async () => {
  await create('tor', 'tor');
  await untilRoutesInstalled();
  await bed.untilSession('tor', /^Established$/);
  await bed.untilAdvertised('tor', 2);
  const router = linkLocal(tor.namespace, 'node');
  await eventuallyPasses(async () => {
    const { interfaces, peers = [] } = await nodeState();
    assert.deepEqual(interfaces, ['tor']);
    assert.deepEqual(peers.map(({ peer, address }) => `${peer} ${address}`).toSorted(), [
      `other ${other.link.v4}`,
      `tor ${router}%tor`,
    ]);
  });
});

test('routes of an unnumbered router are learned with their link', onlyGobgpd4('tells of no routes'), async () => {
  const router = `${linkLocal(tor.namespace, 'node')}%tor`;
  await bed.create(routePolicies, 'all', { direction: 'Import', bgpPeers: ['tor'], rules: [{ match: {} }] });
  await bed.patchPeer('tor', { import: {} });
  await eventuallyPasses(async () => {
    const { learned = [] } = await nodeState();
    assert.deepEqual(
      learned.map(({ prefix, nextHop }) => `${prefix} ${nextHop}`).toSorted(),
      announces.map((prefix) => `${prefix} ${router}`),
    );
  });
});

test('a restart of the speaker does not affect the session', async () => {
  await eventuallyPasses(async () => assert.ok((await tor.neighbor('node')).isSettled));
  const before = await tor.neighbor('node');
  await bed.killSpeaker();
  bed.startSpeaker();
  await bed.create(bgpPeers, 'marker', { instance: 'rack', interface: 'none', asn: 65101 });
  await bed.untilSession('marker', /^Refused InterfaceNotFound$/);
  assert.deepEqual(await tor.neighbor('node'), before);
  await bed.kube.delete(bgpPeers, { name: 'marker' });
});

test('a renamed link has no session until its name or the BgpPeer’s interface is changed', async () => {
  const before = await counters(other);
  const rename = (from: string, to: string) =>
    bed.lab.node.ip(`link set ${from} down`, `link set ${from} name ${to}`, `link set ${to} up`);
  rename('tor', 'leaf');
  await bed.untilSession('tor', /^Refused InterfaceNotFound$/);
  await untilRoutes(tor, []);
  assert.match((await bed.entry('tor')).message ?? '', /no interface tor; name one that it has/);
  rename('leaf', 'tor');
  await untilRoutesInstalled();
  rename('tor', 'leaf');
  await bed.patchPeer('tor', { interface: 'leaf' });
  await eventuallyPasses(async () => assert.deepEqual((await nodeState()).interfaces, ['leaf']));
  await bed.untilSession('tor', /^Established$/);
  rename('leaf', 'tor');
  await bed.untilSession('tor', /^Refused InterfaceNotFound$/);
  await bed.patchPeer('tor', { interface: 'tor' });
  await untilRoutesInstalled();
  assert.deepEqual(await counters(other), before, 'the other session did not notice');
});

test('the session follows a changed link-local address of the router or the node', async () => {
  const before = linkLocal(tor.namespace, 'node');
  tor.namespace.ip('link set node down', 'link set node address 02:00:00:00:00:99', 'link set node up');
  const after = linkLocal(tor.namespace, 'node');
  assert.notEqual(after, before);
  await eventuallyPasses(async () => {
    const { peers = [] } = await nodeState();
    const session = peers.find(({ peer }) => peer === 'tor');
    assert.deepEqual([session?.address, session?.state], [`${after}%tor`, 'Established']);
  });
  await untilRoutesInstalled();
  bed.lab.node.ip('link set tor down', 'link set tor address 02:00:00:00:00:98', 'link set tor up');
  await untilRoutesInstalled();
});

test('a link-local session supports a password, TTL security and BFD', onlyGobgpd4('has no BFD'), async () => {
  const before = await tor.neighbor('node');
  await bed.kube.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'isthmus-bgp-passwords', namespace: 'kube-system' },
    stringData: { tor: 's3cret' },
  });
  await tor.configureSessions('password s3cret', 'ttl-security hops 1');
  await bed.patchPeer('tor', {
    passwordSecretRef: { name: 'isthmus-bgp-passwords', key: 'tor' },
    ttlSecurityHops: 1,
    bfd: {},
  });
  await eventuallyPasses(async () => assert.ok((await tor.neighbor('node')).established > before.established));
  await untilRoutesInstalled();
  await eventuallyPasses(async () =>
    assert.equal((await nodeState()).peers?.find(({ peer }) => peer === 'tor')?.bfd, 'Up'),
  );
  await eventuallyPasses(async () => assert.equal(await tor.bfd(linkLocal(bed.lab.node, 'tor')), 'up'));
});

test('a link with no neighbour or with several has no session and reports the reason', async () => {
  await create('mute', 'mute');
  await bed.untilSession('mute', /^Refused NoNeighbor$/);
  const { namespace } = bed.lab.raw('mute');
  const node = linkLocal(bed.lab.node, 'mute');
  namespace.ip(
    `addr del ${linkLocal(namespace, 'node')}/64 dev node`,
    'addr add fe80::a/64 dev node nodad',
    'addr add fe80::b/64 dev node nodad',
  );
  const speak = (address: string) => namespace.run('ping', '-c1', '-W20', '-I', `${address}%node`, `${node}%node`);
  speak('fe80::a');
  await bed.untilSession('mute', /^(Idle|Connect|Active) /);
  await bed.kube.delete(bgpPeers, { name: 'mute' });
  await eventuallyPasses(async () => assert.deepEqual((await nodeState()).interfaces, ['tor']));
  speak('fe80::b');
  await create('mute', 'mute');
  await bed.untilSession('mute', /^Refused SeveralNeighbors$/);
  namespace.ip('addr del fe80::b/64 dev node');
  await bed.untilSession('mute', /^(Idle|Connect|Active) /);
  await eventuallyPasses(async () => {
    const { peers = [] } = await nodeState();
    assert.equal(peers.find(({ peer }) => peer === 'mute')?.address, 'fe80::a%mute');
  });
});

test('an invalid unnumbered BgpPeer is refused at once', async () => {
  await create('second', 'tor');
  await bed.untilSession('second', /^Refused DuplicateInterface$/);
  await assert.rejects(create('both', 'tor', { address: '172.31.2.201' }), /either the address/);
  await assert.rejects(create('hops', 'tor', { ebgpMultihopTTL: 2 }), /one hop away/);
  await assert.rejects(create('from', 'tor', { sourceAddress: 'fd00::1' }), /one hop away/);
  await assert.rejects(bed.create(bgpPeers, 'none', { instance: 'rack', asn: 65101 }), /either the address/);
});
