/** Sessions with FRR, BIRD and gobgpd: both families, the same AS, multihop, TTL security, connection direction, configuration errors. */
import { onlyGobgpd4 } from './only-gobgpd-4.ts';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bgpAdvertisements, bgpInstances, bgpPeers } from '../../../lib/kube/resources.ts';
import { shortestOf } from './shortest.ts';
import type { FrrPeer } from './frr.ts';
import type { Family, Peer } from './peer.ts';
import { nameOf, openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilEstablished, untilFib, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let frr: FrrPeer;
let inner: FrrPeer;
let far: FrrPeer;
const [v4, v6] = ['10.16.0.0/16', 'fd00:10:16::/64'];

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'frr', asn: 65101 },
    { kind: 'bird', name: 'bird', asn: 65102 },
    { kind: 'gobgpd', name: 'gobgpd', asn: 65103, nodeAsn: 65001 },
    { kind: 'frr', name: 'inner', asn: 65001, nodeAsn: 65001 },
    { kind: 'frr', name: 'far', asn: 65105, isBehindRouter: true, session: ['ebgp-multihop 2'] },
  ]);
  [frr, inner, far] = [bed.lab.frr('frr'), bed.lab.frr('inner'), bed.lab.frr('far')];
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' });
  await bed.createSubnet('ovn-default', `${v4},${v6}`);
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
});

after(() => (bed as SpeakerBed | undefined)?.close());

/** Recreates the BgpPeer of a family; returns the time until the session is established, in ms. */
async function dial(peer: Peer, family: Family, spec: object = {}): Promise<number> {
  const name = nameOf(peer, family);
  await bed.kube.delete(bgpPeers, { name });
  await untilRoutes(peer, [], family);
  const begun = performance.now();
  await bed.createPeer(peer, family, spec);
  await untilEstablished(peer, family);
  return performance.now() - begun;
}

async function untilDown(peer: Peer): Promise<void> {
  await bed.untilSession(peer.name, /^(?!Established)./);
  await untilRoutes(peer, []);
}

test('FRR, BIRD and gobgpd have a session for each family, with the next hop of their link', async () => {
  const peers = [frr, bed.lab.bird('bird'), bed.lab.peer('gobgpd')];
  for (const peer of peers) for (const family of [4, 6] as const) await bed.createPeer(peer, family);
  for (const peer of peers) {
    await untilRoutes(peer, { [v4]: [peer.link.nodeV4] });
    await untilRoutes(peer, { [v6]: [peer.link.nodeV6] }, 6);
    assert.deepEqual((await peer.path(v4))?.asPath, [65001]);
    for (const family of [4, 6] as const) {
      await bed.untilSession(nameOf(peer, family), /^Established$/);
      await bed.untilAdvertised(nameOf(peer, family), 1);
    }
  }
  for (const peer of peers.slice(0, 2)) {
    await untilFib(peer, { [v4]: [peer.link.nodeV4] });
    await untilFib(peer, { [v6]: [peer.link.nodeV6] }, 6);
  }
});

test('two sides that connect at the same time have one stable session', async () => {
  const peers = [frr, bed.lab.bird('bird'), bed.lab.peer('gobgpd')];
  const established = () => Promise.all(peers.map(async (peer) => (await counters(peer)).established));
  const before = await established();
  assert.equal(before[0], 1);
  await sleep(2000);
  assert.deepEqual(await established(), before);
});

test('a router of the same AS receives the local preference and an empty AS path', async () => {
  await bed.createPeer(inner, 4);
  await untilRoutes(inner, { [v4]: [inner.link.nodeV4] });
  const { asPath, localPref } = (await inner.path(v4)) ?? {};
  assert.deepEqual({ asPath, localPref }, { asPath: [], localPref: 100 });
});

test('a router behind another router needs ebgpMultihopTTL', async () => {
  await bed.createPeer(far, 4, { ebgpMultihopTTL: 2 });
  await bed.createPeer(far, 6);
  await untilRoutes(far, { [v4]: [far.link.nodeV4] });
  await untilFib(far, { [v4]: ['172.31.5.254'] });
  await bed.untilSession('far-v6', /^(?!Established)./);
  await untilRoutes(far, [], 6);
  await bed.kube.delete(bgpPeers, { name: 'far-v6' });
});

test('TTL security on either side accepts packets only from the configured distance', async () => {
  await far.configureSessions('no ebgp-multihop', 'ttl-security hops 2');
  await bed.patchPeer('far', { ebgpMultihopTTL: 1, ttlSecurityHops: 2 });
  await untilRoutes(far, { [v4]: [far.link.nodeV4] });
  await bed.patchPeer('far', { ttlSecurityHops: 1 });
  await untilDown(far);
  await bed.patchPeer('far', { ttlSecurityHops: 2 });
  await untilRoutes(far, { [v4]: [far.link.nodeV4] });
  await far.configureSessions('no ttl-security hops 2', 'ttl-security hops 1');
  await untilDown(far);
});

test('a session is established from either side', onlyGobgpd4('waits longer before it dials'), async (context) => {
  const bird = bed.lab.bird('bird');
  // gobgpd itself waits five seconds after each session.
  const restMs = 5000;
  const dialled = (peer: Peer, spec?: object) => shortestOf(() => dial(peer, 4, spec), restMs);
  const theyDial = [await dialled(frr), await dialled(bird)];
  await frr.configureSessions('passive');
  const weDial = await dialled(frr);
  await frr.configureSessions('no passive');
  theyDial.push(await dialled(frr, { passive: true }), await dialled(bird, { passive: true }));
  context.diagnostic(`we dial: ${weDial.toFixed(0)} ms; they do: ${theyDial.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  for (const timeMs of [weDial, ...theyDial]) assert.ok(timeMs < restMs, `${timeMs} ms`);
  await bed.patchPeer('frr', { passive: false });
  await bed.patchPeer('bird', { passive: false });
});

test('a router with an AS mismatch on either side has no session, and does not affect others', async () => {
  const before = await counters(inner);
  await bed.patchPeer('frr', { asn: 65999 });
  await untilDown(frr);
  await bed.patchPeer('frr', { asn: 65001 });
  await untilDown(frr);
  await bed.patchPeer('frr', { asn: 65101 });
  await untilRoutes(frr, { [v4]: [frr.link.nodeV4] });
  await frr.configure(`router bgp ${frr.asn}`, `neighbor ${frr.link.nodeV4} remote-as 65050`);
  await untilDown(frr);
  await bed.patchPeer('frr', { localASN: 65050 });
  await untilRoutes(frr, { [v4]: [frr.link.nodeV4] });
  assert.deepEqual((await frr.path(v4))?.asPath, [65050]);
  assert.equal((await counters(inner)).established, before.established);
});

test('a router with the node’s router ID is accepted from another AS and refused from the same AS', async () => {
  await frr.configure(`router bgp ${frr.asn}`, `bgp router-id ${bed.lab.routerId}`);
  await inner.configure(`router bgp ${inner.asn}`, `bgp router-id ${bed.lab.routerId}`);
  await untilDown(inner);
  await untilRoutes(frr, { [v4]: [frr.link.nodeV4] });
  await inner.configure(`router bgp ${inner.asn}`, `bgp router-id ${inner.link.v4}`);
  await untilRoutes(inner, { [v4]: [inner.link.nodeV4] });
});
