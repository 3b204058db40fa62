/** Result of every benchmark: figures, each with its floor from the same run. */
import type { LabHandle } from '../lab/lib/lab.ts';

export interface Row {
  readonly what: string;
  readonly unit: 'µs' | 'ms' | 's' | 'MB' | 'pods/s';
  readonly ours: number;
  readonly floor: number;
  readonly floorIs: string;
}

/** Figures, and sentences that belong to them. */
export interface Measured {
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
}

/** The smallest value that at least this share of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** How many times the floor: as long, or as much. */
export function ratioOf({ unit, ours, floor }: Row): number {
  return unit === 'pods/s' ? floor / ours : ours / floor;
}

/** Stops a process of the lab while `work` runs; the lease of a stopped leader is lost after ten seconds. */
export async function whileFrozen<T>(
  lab: LabHandle,
  place: string,
  component: string,
  work: () => Promise<T>,
): Promise<T> {
  const pid = lab.pid(place, component);
  process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}
