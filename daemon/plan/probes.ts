/** When peers are probed, and which results are worth a write. Pure. */
import type { GatewayPeer, GatewayProbe } from '../../lib/api/kinds/interconnect-gateway.ts';
import { probeGapMs, probeIntervalMs } from '../model/interconnect.ts';

export const parallelProbes = 4;
const leastRefreshMs = 30_000;
/** Less than this is the load of a moment, by whatever factor it differs. */
const rttNoiseMs = 5;

export interface ProbeQueue {
  /** Peer → when it is to be probed next; those being probed are not in it. */
  readonly due: ReadonlyMap<string, number>;
  readonly running: number;
  readonly lastStartMs: number;
  readonly nowMs: number;
}

/** Who is next, and in how many milliseconds; undefined while nobody waits or too many are being probed. */
export function nextProbe(queue: ProbeQueue): { readonly chassis: string; readonly waitMs: number } | undefined {
  const { due, running, lastStartMs, nowMs } = queue;
  if (running >= parallelProbes) return undefined;
  const [first] = [...due].toSorted(([, a], [, b]) => a - b);
  if (first === undefined) return undefined;
  const [chassis, dueMs] = first;
  return { chassis, waitMs: Math.max(0, Math.max(dueMs, lastStartMs + probeGapMs) - nowMs) };
}

/** Of each peer the newest: of this run, or what an earlier run has told of it. By chassis. */
export function planProbes(
  peers: readonly GatewayPeer[],
  results: ReadonlyMap<string, GatewayProbe>,
  before: readonly GatewayProbe[],
): readonly GatewayProbe[] {
  const told = new Map(before.map((probe) => [placeOf(probe), probe]));
  return peers
    .flatMap((peer) => results.get(peer.chassis) ?? told.get(placeOf(peer)) ?? [])
    .toSorted((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

function placeOf({ chassis, address }: Pick<GatewayPeer, 'chassis' | 'address'>): string {
  return `${chassis} ${address}`;
}

/**
 * Whether to write now: at once what matters to somebody, small changes and the time of the probe now and then. `ageMs` is
 * that of the newest probe in `before`.
 */
export function isWorthWriting(
  before: readonly GatewayProbe[],
  after: readonly GatewayProbe[],
  { ageMs, peers }: { readonly ageMs: number; readonly peers: number },
): boolean {
  const told = new Map(before.map((probe) => [probe.chassis, probe]));
  if (before.length !== after.length) return true;
  if (after.some((probe) => isNews(told.get(probe.chassis), probe))) return true;
  const isNewer = after.some(({ chassis, at }) => told.get(chassis)?.at !== at);
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
