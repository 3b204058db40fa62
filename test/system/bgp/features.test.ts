/** Features of a session: both families, extended next hop, source address, BFD, prefix limits, route reflection, long-lived graceful restart. */
import { onlyGobgpd4 } from './only-gobgpd-4.ts';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bgpAdvertisements, bgpInstances, bgpPeers, nodes } from '../../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import { FibWatch } from './fib-watch.ts';
import type { FrrPeer } from './frr.ts';
import { nameOf, openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilEstablished, untilQuiet, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let frr: FrrPeer;
let inner: FrrPeer;
let second: FrrPeer;
const [v4, v6] = ['10.16.0.0/16', 'fd00:10:16::/64'];

before(async () => {
  bed = await openSpeakerBed(
    [
      { kind: 'frr', name: 'frr', asn: 65101, hasBfd: true, isLongLived: true },
      {
        kind: 'frr',
        name: 'inner',
        asn: 65001,
        nodeAsn: 65001,
        announces: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
      },
      { kind: 'frr', name: 'second', asn: 65001, nodeAsn: 65001 },
      { kind: 'bird', name: 'bird', asn: 65102, isLongLived: true },
      { kind: 'gobgpd', name: 'gobgpd', asn: 65103, nodeAsn: 65001, isLongLived: true },
    ],
    true,
  );
  [frr, inner, second] = [bed.lab.frr('frr'), bed.lab.frr('inner'), bed.lab.frr('second')];
  const addresses = [bed.lab.routerId, frr.link.nodeV6].map((address) => ({ type: 'InternalIP', address }));
  await bed.kube.patch(nodes, { name: 'n1' }, 'merge', { status: { addresses } }, { subresource: 'status' });
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' });
  await bed.createSubnet('ovn-default', `${v4},${v6}`);
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
});

after(() => (bed as SpeakerBed | undefined)?.close());

const remove = async (...names: string[]) => {
  for (const name of names) await bed.kube.delete(bgpPeers, { name });
  await eventuallyPasses(async () => assert.equal((await bed.gobgp((client) => client.listPeers())).length, 0));
};

/** Activates both families in FRR on the session with one of the node's addresses. */
async function activateBoth(peer: FrrPeer, address: string): Promise<void> {
  for (const family of ['ipv4', 'ipv6'])
    await peer.configure(`router bgp ${peer.asn}`, `address-family ${family} unicast`, `neighbor ${address} activate`);
}

test('a session carries both families, with a node address as next hop of the other family', async () => {
  await activateBoth(frr, frr.link.nodeV4);
  await bed.createPeer(frr, 4, { families: ['ipv4', 'ipv6'] });
  await untilRoutes(frr, { [v4]: [frr.link.nodeV4] });
  await untilRoutes(frr, { [v6]: [frr.link.nodeV6] }, 6);
  await remove('frr');
  await untilRoutes(frr, [], 6);
});

test('an IPv6 session carries IPv4 with an IPv6 next hop', async () => {
  await activateBoth(frr, frr.link.nodeV6);
  await frr.configure(`router bgp ${frr.asn}`, `neighbor ${frr.link.nodeV6} capability extended-nexthop`);
  const name = nameOf(frr, 6);
  await bed.createPeer(frr, 6, { families: ['ipv4', 'ipv6'], extendedNextHop: true });
  await untilRoutes(frr, { [v6]: [frr.link.nodeV6] }, 6);
  await eventuallyPasses(async () => assert.equal((await frr.path(v4))?.nextHop, frr.link.nodeV6));
  await remove(name);
  await assert.rejects(bed.createPeer(frr, 4, { extendedNextHop: true }), /extendedNextHop is for/);
});

test('a session may use a secondary address as its source', async () => {
  const secondary = '172.31.1.77';
  await bed.createPeer(frr, 4, { sourceAddress: secondary });
  await bed.untilSession('frr', /^Refused SourceAddressNotFound$/);
  await bed.untilCondition(bgpPeers, 'frr', 'Accepted', 'False SourceAddressNotFound');
  bed.lab.node.ip(`address add ${secondary}/24 dev frr`);
  await bed.untilCondition(bgpPeers, 'frr', 'Accepted', 'True Accepted');
  await frr.configure(
    `router bgp ${frr.asn}`,
    `neighbor ${secondary} remote-as external`,
    `neighbor ${secondary} timers 3 9`,
  );
  await eventuallyPasses(async () => assert.equal((await frr.neighbor(secondary)).state, 'Established'));
  await untilRoutes(frr, { [v4]: [secondary] });
  const before = await frr.neighbor(secondary);
  await bed.killSpeaker();
  bed.startSpeaker();
  await bed.untilWorking();
  await sleep(1500);
  assert.deepEqual(await frr.neighbor(secondary), before, 'a speaker that starts takes the session for what it is');
  await remove('frr');
  await frr.configure(`router bgp ${frr.asn}`, `no neighbor ${secondary}`);
});

test('BFD ends the session of a frozen router and is its reported reason', onlyGobgpd4('has no BFD'), async () => {
  await bed.createPeer(frr, 4, { bfd: {}, holdTimeSeconds: 90, keepaliveSeconds: 30 });
  await untilRoutes(frr, [v4]);
  await eventuallyPasses(async () =>
    assert.equal((await bed.gobgp((client) => client.listPeers()))[0]?.session.bfdState, 'Up'),
  );
  for (const daemon of [frr.daemon, frr.bfdd]) daemon.freeze();
  try {
    await bed.untilSession('frr', /BfdDown/, 60_000);
  } finally {
    for (const daemon of [frr.bfdd, frr.daemon]) daemon.resume();
  }
  await untilEstablished(frr);
  await untilRoutes(frr, [v4]);
  await remove('frr');
});

test('a router above its prefix limit loses the session until the restart time, or until the limit is raised', async () => {
  await bed.createPeer(inner, 4, { maximumPrefixes: { limit: 2, restartSeconds: 4 } });
  await bed.untilSession('inner', /PrefixLimit/);
  const { message } = await bed.entry('inner');
  assert.match(message ?? '', /more prefixes than/);
  const others = ['network 192.0.2.0/24', 'network 203.0.113.0/24'];
  const announce = (...lines: string[]) =>
    inner.configure(`router bgp ${inner.asn}`, 'address-family ipv4 unicast', ...lines);
  await announce(...others.map((line) => `no ${line}`));
  await bed.untilSession('inner', /^Established$/);
  await untilRoutes(inner, [v4]);
  await bed.patchPeer('inner', { maximumPrefixes: { limit: 2, restartSeconds: 3600 } });
  await announce(...others);
  await bed.untilSession('inner', /PrefixLimit/);
  await bed.patchPeer('inner', { maximumPrefixes: { limit: 3 } });
  await bed.untilSession('inner', /^Established$/);
  await announce(...others.map((line) => `no ${line}`));
  await remove('inner');
});

test('a route reflector client receives the routes of other clients', async () => {
  for (const peer of [inner, second]) await bed.createPeer(peer, 4, { routeReflectorClient: true });
  for (const peer of [inner, second]) await untilEstablished(peer);
  const { nodeV4 } = second.link;
  await eventuallyPasses(async () => assert.equal((await second.path('198.51.100.0/24'))?.nextHop, inner.link.v4));
  assert.deepEqual((await second.routes())[v4], [nodeV4]);
  await bed.kube.delete(bgpPeers, { name: 'inner' });
  await untilRoutes(second, [v4]);
  await bed.kube.delete(bgpPeers, { name: 'second' });
});

test('changed timers of a session affect only that session', async () => {
  await bed.createPeer(frr, 4);
  await bed.createPeer(inner, 4);
  for (const peer of [frr, inner]) await untilRoutes(peer, [v4]);
  const before = await untilQuiet(frr);
  await bed.patchPeer('inner', { holdTimeSeconds: 30, keepaliveSeconds: 10, connectRetrySeconds: 7 });
  await bed.patchPeer('inner', { gracefulRestart: { restartTimeSeconds: 60, longLivedStaleSeconds: 600 } });
  await untilEstablished(inner);
  await eventuallyPasses(async () => {
    const [{ config } = { config: undefined }] = (await bed.gobgp((client) => client.listPeers())).filter(
      (each) => each.config.address === inner.link.v4,
    );
    assert.equal(config?.gracefulRestart?.longLivedStaleSeconds, 600);
  });
  assert.deepEqual(await counters(frr), before);
  await untilRoutes(inner, [v4]);
  await remove('frr', 'inner');
});

test('routers retain the routes of an absent gobgpd as stale, and have them fresh when it is back', async (context) => {
  const [bird, gobgpd] = [bed.lab.peer('bird'), bed.lab.peer('gobgpd')];
  const gracefulRestart = { restartTimeSeconds: 3, longLivedStaleSeconds: 60 };
  // `inner` is FRR without long-lived graceful restart: it shows that the restart time is over.
  const all = [frr, bird, gobgpd, inner];
  for (const peer of all) await bed.createPeer(peer, 4, { gracefulRestart });
  for (const peer of all) await untilRoutes(peer, { [v4]: [peer.link.nodeV4] });
  for (const peer of all) await eventuallyPasses(async () => assert.ok((await counters(peer)).isSettled));
  for (const peer of [frr, bird]) await eventuallyPasses(() => assert.deepEqual(peer.fib()[v4], [peer.link.nodeV4]));
  const watches = await Promise.all([frr, bird].map((peer) => FibWatch.open(peer, [v4])));
  context.after(() => Promise.all(watches.map((watch) => watch.close())));
  const communities = async () =>
    Promise.all([frr, bird, gobgpd].map(async (peer) => (await peer.path(v4))?.communities));
  const stale = [['llgr-stale'], ['llgr-stale'], ['llgr-stale']];
  await bed.lab.gobgpd.kill();
  assert.deepEqual(await communities(), [[], [], []], 'within the restart time');
  await untilRoutes(inner, []);
  await eventuallyPasses(async () => assert.deepEqual(await communities(), stale));
  await sleep(2000);
  assert.deepEqual(await communities(), stale, 'for longer than the restart time');
  await bed.lab.gobgpd.restart();
  await eventuallyPasses(async () => assert.deepEqual(await communities(), [[], [], []]));
  for (const peer of all) await untilRoutes(peer, { [v4]: [peer.link.nodeV4] });
  for (const peer of all) await bed.untilSession(peer.name, /^Established$/);
  assert.deepEqual(
    watches.map(({ mostMissing }) => mostMissing),
    [0, 0],
    'no kernel was without it',
  );
});
