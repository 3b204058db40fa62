/** What a measurement of BGP gives: figures with a floor of the same run beside them, and what was promised. */
import type { PromisedRow } from '../promise.ts';
import type { BgpBed } from './bed.ts';

export type BgpRow = PromisedRow<
  | 'ms'
  | 's'
  | 'routes'
  | 'UPDATEs'
  | 'prefixes'
  | 'flaps'
  | 'resets'
  | 'calls'
  | 'requests'
  | 'faults'
  | 'MB'
  | '% of a core'
>;

export interface Measurement {
  readonly name: string;
  /** Leaves the bed with its speaker, gobgpd and routers at work; what is announced it may leave as it likes. */
  readonly measure: (bed: BgpBed) => Promise<readonly BgpRow[]>;
}
