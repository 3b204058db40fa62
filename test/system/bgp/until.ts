import assert from 'node:assert/strict';
import { eventually } from './eventually.ts';
import type { Family, NeighborCounters, Peer } from './peer.ts';

/** Waits until a peer has exactly these routes: prefixes, or next hops by prefix. */
export async function untilRoutes(
  peer: Peer,
  wanted: string[] | Readonly<Record<string, readonly string[]>>,
  family: Family = 4,
  timeoutMs?: number,
): Promise<void> {
  await eventually(async () => {
    const routes = await peer.routes(family);
    if (Array.isArray(wanted)) assert.deepEqual(Object.keys(routes).toSorted(), wanted.toSorted());
    else assert.deepEqual(routes, wanted);
  }, timeoutMs);
}

/** The peer's counters of its session with the node. */
export function counters(peer: Peer, family: Family = 4): Promise<NeighborCounters> {
  return peer.neighbor(family === 4 ? peer.link.nodeV4 : peer.link.nodeV6);
}
