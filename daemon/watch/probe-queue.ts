/** When peers are probed. Pure. */
import { probeGapMs } from '../model/interconnect.ts';

export const parallelProbes = 4;

export interface ProbeQueue {
  /** Peer → time of its next probe; peers that are being probed are not in the map. */
  readonly due: ReadonlyMap<string, number>;
  readonly running: number;
  readonly lastStartMs: number;
  readonly nowMs: number;
}

/** The next peer, and the milliseconds until its probe; undefined while no peer waits or too many are being probed. */
export function nextProbe(queue: ProbeQueue): { readonly chassis: string; readonly waitMs: number } | undefined {
  const { due, running, lastStartMs, nowMs } = queue;
  if (running >= parallelProbes) return undefined;
  const [first] = [...due].toSorted(([, a], [, b]) => a - b);
  if (first === undefined) return undefined;
  const [chassis, dueMs] = first;
  return { chassis, waitMs: Math.max(0, Math.max(dueMs, lastStartMs + probeGapMs) - nowMs) };
}
