/** Sessions that are lost and re-established: a router resets, dies or freezes, or the node's gobgpd freezes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bgpAdvertisements, bgpInstances } from '../../../lib/kube/resources.ts';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import { shortestOf } from './shortest.ts';
import type { Peer } from './peer.ts';
import { openSpeakerBed, type SpeakerBed } from './speaker-bed.ts';
import { counters, untilEstablished, untilQuiet, untilRoutes } from './until.ts';

let bed: SpeakerBed;
let prefixes: string[];
/** The two peers that fail. */
let peers: readonly Peer[];
let bystander: Peer;
const holdSeconds = 3;
/** gobgpd waits five seconds after each session; a recreated peer connects within two seconds. */
const backMs = 4500;
const rounds = 5;
/** The earliest detection of a freeze: on a busy machine the last keepalive may be up to two seconds old. */
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

/** Waits until the peer has lost its session and has all routes again; returns the duration in ms. */
async function lostAndBack(peer: Peer, act: () => Promise<void>): Promise<number> {
  const { established } = await counters(peer);
  const begun = performance.now();
  await act();
  await eventuallyPasses(async () => assert.ok((await counters(peer)).established > established), undefined, 20);
  await untilRoutes(peer, prefixes);
  return performance.now() - begun;
}

test('a router that resets its sessions repeatedly gets all routes back each time', async () => {
  const steady = await untilQuiet(bystander);
  const frr = bed.lab.peer('frr');
  const { established } = await counters(frr);
  await Promise.all(
    peers.map(async (peer) => {
      const timesMs: number[] = [];
      for (let round = 0; round < rounds; round++) {
        timesMs.push(await lostAndBack(peer, () => peer.reset()));
        // A session of a few milliseconds would not be reported.
        await bed.untilSession(peer.name, /^Established$/);
      }
      // A busy machine delays some of the rounds; gobgpd's wait would delay all of them.
      assert.ok(Math.min(...timesMs) < backMs, `${peer.name}: ${timesMs.join()} ms`);
    }),
  );
  // On a busy machine the short hold time may end further sessions.
  await eventuallyPasses(async () => {
    const lost = (await counters(frr)).established - established;
    assert.ok(lost >= rounds, `${lost} sessions lost`);
    assert.equal(await bed.eventCount('frr', 'SessionLost'), lost);
  });
  assert.equal((await counters(bystander)).established, steady.established);
  assert.equal((await counters(bystander)).updates, steady.updates);
});

test('a router whose BGP daemon dies gets all routes back after its restart', async () => {
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

test('the session of a frozen router is lost after the hold time, and re-established when it resumes', async () => {
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

test('routers drop the routes of a frozen gobgpd after the hold time, and have them again when it resumes', async () => {
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
