import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import type { Family, NeighborCounters, Peer } from './peer.ts';

/** Waits until a peer has exactly these routes: prefixes, or next hops by prefix. */
export async function untilRoutes(
  peer: Peer,
  wanted: string[] | Readonly<Record<string, readonly string[]>>,
  family: Family = 4,
  timeoutMs?: number,
): Promise<void> {
  await eventuallyPasses(async () => {
    const routes = await peer.routes(family);
    if (!Array.isArray(wanted)) return assert.deepEqual(routes, wanted);
    const [has, should] = [new Set(Object.keys(routes)), new Set<string>(wanted)];
    const [missing, extra] = [[...should.difference(has)], [...has.difference(should)]];
    assert.ok(missing.length + extra.length === 0, `${peer.name} lacks ${some(missing)}, has ${some(extra)}`);
  }, timeoutMs);
}

function some(prefixes: readonly string[]): string {
  return `${prefixes.length} routes (${prefixes.slice(0, 3).join(' ')})`;
}

/** The peer's counters of its session with the node. */
export function counters(peer: Peer, family: Family = 4): Promise<NeighborCounters> {
  return peer.neighbor(family === 4 ? peer.link.nodeV4 : peer.link.nodeV6);
}

/** The peer's counters once its session is established and settled, and nothing has arrived for half a second. */
export function untilQuiet(peer: Peer, family: Family = 4): Promise<NeighborCounters> {
  return eventuallyPasses(async () => {
    const before = await counters(peer, family);
    await sleep(500);
    const now = await counters(peer, family);
    assert.deepEqual(now, { ...before, state: 'Established', isSettled: true });
    return now;
  });
}

/** Waits until the peer's session with the node is established. */
export async function untilEstablished(peer: Peer, family: Family = 4, timeoutMs?: number): Promise<void> {
  await eventuallyPasses(
    async () => assert.equal((await counters(peer, family)).state, 'Established'),
    timeoutMs,
    peer.setup.kind === 'gobgpd' ? 50 : 10,
  );
}

/** Waits until the peer's kernel has exactly these next hops by prefix. */
export async function untilFib(
  peer: Peer,
  wanted: Readonly<Record<string, readonly string[]>>,
  family: Family = 4,
): Promise<void> {
  await eventuallyPasses(() => assert.deepEqual(peer.fib(family), wanted));
}
