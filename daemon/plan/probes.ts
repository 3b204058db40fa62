/** Results of probes → the probes in the status of the InterconnectGateway, and whether they are worth a write. Pure. */
import type { GatewayPeer, GatewayProbe } from '../../lib/api/kinds/interconnect-gateway.ts';
import { probeIntervalMs } from '../model/interconnect.ts';

const leastRefreshMs = 30_000;
/** A smaller difference is momentary load, whatever its factor. */
const rttNoiseMs = 5;

/** The newest probe of each peer, by chassis: of this run, or the one that the status has from an earlier run. */
export function planProbes(
  peers: readonly GatewayPeer[],
  results: ReadonlyMap<string, GatewayProbe>,
  before: readonly GatewayProbe[],
): readonly GatewayProbe[] {
  const reported = new Map(before.map((probe) => [placeOf(probe), probe]));
  return peers
    .flatMap((peer) => results.get(peer.chassis) ?? reported.get(placeOf(peer)) ?? [])
    .toSorted((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

function placeOf({ chassis, address }: Pick<GatewayPeer, 'chassis' | 'address'>): string {
  return `${chassis} ${address}`;
}

/**
 * Whether to write now. A change that matters is written at once, a small change or a new time of a probe only now and then.
 * `ageMs` is the age of the newest probe in `before`.
 */
export function isWorthWriting(
  before: readonly GatewayProbe[],
  after: readonly GatewayProbe[],
  { ageMs, peers }: { readonly ageMs: number; readonly peers: number },
): boolean {
  const reported = new Map(before.map((probe) => [probe.chassis, probe]));
  if (before.length !== after.length) return true;
  if (after.some((probe) => isNews(reported.get(probe.chassis), probe))) return true;
  const isNewer = after.some(({ chassis, at }) => reported.get(chassis)?.at !== at);
  return isNewer && ageMs >= Math.max(leastRefreshMs, 3 * probeIntervalMs(peers));
}

function isNews(before: GatewayProbe | undefined, after: GatewayProbe): boolean {
  if (before === undefined) return true;
  const isSame =
    before.address === after.address &&
    before.mtu === after.mtu &&
    before.problem === after.problem &&
    lossBand(before) === lossBand(after);
  return !isSame || isOtherRtt(before.rttMs?.avg, after.rttMs?.avg);
}

function lossBand({ lossPercent }: GatewayProbe): number {
  return [0, 20, 99.9].filter((limit) => lossPercent > limit).length;
}

function isOtherRtt(before: number | undefined, after: number | undefined): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return Math.abs(before - after) > rttNoiseMs && Math.max(before, after) > 2 * Math.min(before, after);
}
