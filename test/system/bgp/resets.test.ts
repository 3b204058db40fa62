/** Sessions that are lost and come back: by a router that resets, dies or freezes, and by our own gobgpd that freezes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bgpAdvertisements, bgpInstances } from '../../../lib/kube/resources.ts';
import { eventually, shortestOf } from './eventually.ts';
import type { Peer } from './peer.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilEstablished, untilQuiet, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let prefixes: string[];
/** The two that things happen to. */
let peers: readonly Peer[];
let bystander: Peer;
const holdSeconds = 3;
/** gobgpd rests for five seconds after each session; a peer made anew waits for up to two before it dials. */
const backMs = 4500;
const rounds = 5;
/** A busy machine is late with the last keep-alive before something freezes, by less than this. */
const earliestMs = (holdSeconds - 2) * 1000;

before(async () => {
  bed = await openSpeakerBed([
    { kind: 'frr', name: 'frr', asn: 65101, holdSeconds },
    { kind: 'bird', name: 'bird', asn: 65102, holdSeconds },
    { kind: 'frr', name: 'bystander', asn: 65103 },
  ]);
  peers = [bed.lab.peer('frr'), bed.lab.peer('bird')];
  bystander = bed.lab.peer('bystander');
  await bed.create(bgpAdvertisements, 'all', { source: 'Subnet' });
  prefixes = (await bed.createSubnets(100)).toSorted();
  await bed.create(bgpInstances, 'rack', { localASN: 65001 });
  for (const peer of peers) await bed.createPeer(peer, 4, { holdTimeSeconds: holdSeconds, keepaliveSeconds: 1 });
  await bed.createPeer(bystander, 4);
  for (const peer of [...peers, bystander]) await untilRoutes(peer, prefixes);
});

after(() => (bed as SpeakerBed | undefined)?.close());

/** Waits until the peer lost its session and has all routes again; resolves with the time that took. */
async function lostAndBack(peer: Peer, act: () => Promise<void>): Promise<number> {
  const { established } = await counters(peer);
  const begun = performance.now();
  await act();
  await eventually(async () => assert.ok((await counters(peer)).established > established), undefined, 20);
  await untilRoutes(peer, prefixes);
  return performance.now() - begun;
}

test('a router that resets its sessions, again and again, gets all routes back each time', async () => {
  const steady = await untilQuiet(bystander);
  const frr = bed.lab.peer('frr');
  const { established } = await counters(frr);
  await Promise.all(
    peers.map(async (peer) => {
      const timesMs: number[] = [];
      for (let round = 0; round < rounds; round++) {
        timesMs.push(await lostAndBack(peer, () => peer.reset()));
        // What was there for milliseconds only, nobody was told of.
        await bed.untilSession(peer.name, /^Established$/);
      }
      // A busy machine holds up one or the other, the rest of gobgpd would all.
      assert.ok(Math.min(...timesMs) < backMs, `${peer.name}: ${timesMs.join()} ms`);
    }),
  );
  // On a busy machine the short hold time ends a session that nobody reset.
  await eventually(async () => {
    const lost = (await counters(frr)).established - established;
    assert.ok(lost >= rounds, `${lost} sessions lost`);
    assert.equal(await bed.eventCount('frr', 'SessionLost'), lost);
  });
  assert.equal((await counters(bystander)).established, steady.established);
  assert.equal((await counters(bystander)).updates, steady.updates);
});

test('a router whose BGP dies gets all routes back when it is there again', async () => {
  await Promise.all(
    peers.map(async (peer) => {
      const crashed = async (): Promise<number> => {
        const begun = performance.now();
        await peer.crash();
        await untilRoutes(peer, prefixes);
        const timeMs = performance.now() - begun;
        await bed.untilSession(peer.name, /^Established$/);
        return timeMs;
      };
      const timeMs = await shortestOf(crashed, backMs);
      assert.ok(timeMs < backMs, `${peer.name}: ${timeMs} ms`);
    }),
  );
});

test('a router that freezes is known to be gone after the hold time, and comes back by itself', async () => {
  const steady = await counters(bystander);
  await Promise.all(
    peers.map(async (peer) => {
      const begun = performance.now();
      peer.daemon.freeze();
      await bed.untilSession(peer.name, /^(?!Established)/);
      assert.ok(performance.now() - begun > earliestMs);
      peer.daemon.resume();
      await untilRoutes(peer, prefixes);
      await bed.untilSession(peer.name, /^Established$/);
    }),
  );
  assert.equal((await counters(bystander)).established, steady.established);
});

test('when our gobgpd freezes routers drop its routes after the hold time, and have them again when it goes on', async () => {
  process.kill(bed.lab.gobgpd.pid, 'SIGSTOP');
  const begun = performance.now();
  for (const peer of peers) await untilRoutes(peer, []);
  assert.ok(performance.now() - begun > earliestMs);
  process.kill(bed.lab.gobgpd.pid, 'SIGCONT');
  for (const peer of [...peers, bystander]) await untilEstablished(peer);
  for (const peer of [...peers, bystander]) {
    await untilRoutes(peer, prefixes);
    await bed.untilSession(peer.name, /^Established$/);
  }
});
