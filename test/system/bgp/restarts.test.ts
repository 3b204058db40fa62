/** The effects of restarts of the speaker and of the node's gobgpd on routers and their kernels. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bgpAdvertisements, bgpInstances, bgpPeers, subnets } from '../../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import { FibWatch } from './fib-watch.ts';
import type { FrrPeer } from './frr.ts';
import type { Peer } from './peer.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilQuiet, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let frr: FrrPeer;
let bird: Peer;
/** A router that retains no routes over a restart. */
let forgetful: FrrPeer;
let prefixes: string[];
/** The default time that routes of a restarting neighbour may be stale. */
const staleSeconds = 120;

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'frr', asn: 65101 },
    { kind: 'bird', name: 'bird', asn: 65102 },
    { kind: 'frr', name: 'forgetful', asn: 65103, session: ['graceful-restart-disable'] },
  ]);
  [frr, bird, forgetful] = [bed.lab.frr('frr'), bed.lab.peer('bird'), bed.lab.frr('forgetful')];
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' }, { scope: 'all' });
  await bed.create(bgpAdvertisements, 'few', { source: 'Subnet', selector: { matchLabels: { few: 'yes' } } });
  prefixes = await bed.createSubnets(1000);
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  for (const peer of [frr, bird]) await bed.createPeer(peer, 4);
  await untilRoutesInstalled([frr, bird]);
});

after(() => (bed as SpeakerBed | undefined)?.close());

/** Waits until the kernels of the peers have all routes and the statuses report it. */
async function untilRoutesInstalled(peers: readonly Peer[]): Promise<void> {
  for (const peer of peers) {
    await eventuallyPasses(() => assert.equal(Object.keys(peer.fib()).length, prefixes.length));
    await bed.untilAdvertised(peer.name, prefixes.length);
    await bed.untilSession(peer.name, /^Established$/);
  }
}

/** The most routes that the kernels of FRR and BIRD lost at once, from before `act` until all is quiet again. */
async function lostDuring(act: () => Promise<void>): Promise<Record<string, number>> {
  const watches = await Promise.all([frr, bird].map((peer) => FibWatch.open(peer, prefixes)));
  await act();
  await untilRoutesInstalled([frr, bird]);
  for (const peer of [frr, bird]) await eventuallyPasses(async () => assert.ok((await counters(peer)).isSettled));
  await sleep(1000);
  await Promise.all(watches.map((watch) => watch.close()));
  return { frr: watches[0]?.mostMissing ?? -1, bird: watches[1]?.mostMissing ?? -1 };
}

test('the crash and the start of a speaker cause no UPDATE', async () => {
  const before = await Promise.all([frr, bird].map((peer) => untilQuiet(peer)));
  await bed.killSpeaker();
  await sleep(500);
  bed.startSpeaker();
  await bed.createSubnet('ready', '10.99.0.0/24');
  await untilRoutes(frr, [...prefixes, '10.99.0.0/24']);
  await untilRoutes(bird, [...prefixes, '10.99.0.0/24']);
  const later = await Promise.all([frr, bird].map((peer) => counters(peer)));
  for (const [at, { updates, established }] of before.entries()) {
    assert.equal(later[at]?.updates, updates + 1);
    assert.equal(later[at].established, established);
  }
  await bed.kube.delete(subnets, { name: 'ready' });
  await untilRoutesInstalled([frr, bird]);
});

test('the kernels of routers lose none of 1,000 routes during a crash and restart of gobgpd', async () => {
  const { established } = await counters(frr);
  const lost = await lostDuring(async () => {
    await bed.lab.gobgpd.kill();
    await sleep(1000);
    await bed.lab.gobgpd.restart();
    await eventuallyPasses(async () => assert.equal((await counters(frr)).established, established + 1));
  });
  assert.deepEqual(lost, { frr: 0, bird: 0 });
});

test('an absent neighbour, or one without graceful restart, does not delay others after a restart of gobgpd', async () => {
  await bed.createPeer(forgetful, 4);
  await untilRoutesInstalled([forgetful]);
  const watch = await FibWatch.open(forgetful, prefixes);
  bird.daemon.freeze();
  await bed.lab.gobgpd.kill();
  await untilRoutes(forgetful, []);
  const begun = performance.now();
  await bed.lab.gobgpd.restart();
  await eventuallyPasses(async () => assert.ok(Object.keys(await forgetful.routes()).length > 0), undefined, 10);
  const firstMs = performance.now() - begun;
  await untilRoutesInstalled([frr, forgetful]);
  bird.daemon.resume();
  await untilRoutesInstalled([bird]);
  await watch.close();
  assert.equal(watch.mostMissing, prefixes.length);
  await bed.kube.delete(bgpPeers, { name: 'forgetful' });
  // By default gobgpd would wait for the absent neighbour as long as its routes may be stale.
  assert.ok(firstMs < staleSeconds * 500, `${firstMs} ms`);
});

test('a route deleted while a restarted gobgpd waits for a neighbour is withdrawn from the routers', async () => {
  bird.daemon.freeze();
  await bed.lab.gobgpd.kill();
  await bed.createSubnet('brief', '10.97.0.0/24');
  await bed.lab.gobgpd.restart();
  await eventuallyPasses(async () => assert.ok('10.97.0.0/24' in (await frr.routes())), undefined, 10);
  await bed.kube.delete(subnets, { name: 'brief' });
  await untilRoutes(frr, prefixes);
  bird.daemon.resume();
  await untilRoutesInstalled([frr, bird]);
});

test('a restart of gobgpd and speaker during changes of objects changes only their routes', async () => {
  const { established } = await counters(frr);
  const [gone = '', ...stay] = prefixes;
  const watches = await Promise.all([frr, bird].map((peer) => FibWatch.open(peer, stay)));
  await bed.killSpeaker();
  await bed.lab.gobgpd.kill();
  await bed.kube.delete(subnets, { name: `s-${gone.replace(/[./]/g, '-')}` });
  await bed.createSubnet('new', '10.98.0.0/24');
  await bed.lab.gobgpd.restart();
  bed.startSpeaker();
  prefixes = [...stay, '10.98.0.0/24'];
  for (const peer of [frr, bird]) await untilRoutes(peer, prefixes);
  await untilRoutesInstalled([frr, bird]);
  await sleep(1000);
  await Promise.all(watches.map((watch) => watch.close()));
  assert.deepEqual(
    watches.map(({ mostMissing }) => mostMissing),
    [0, 0],
  );
  assert.equal((await counters(frr)).established, established + 1);
});
