/** Result of a measurement of Services and policies of several clusters: figures, each with its floor of the same run. */
import type { PromisedRow } from '../promise.ts';
import type { McsBed } from './bed.ts';

export type McsRow = PromisedRow<'ms' | 's' | 'ms of CPU' | 'bytes' | 'rows' | 'writes' | 'requests'>;

export interface Measurement {
  readonly name: string;
  /** May leave paths that come up again; `IcBed.settle` waits for them. */
  readonly measure: (bed: McsBed) => Promise<readonly McsRow[]>;
}

/** Milliseconds of the machine's monotonic clock, which all processes share. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
