/** Result of a BGP measurement: figures, each with its floor of the same run and its target. */
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
  /** Leaves the bed with speaker, gobgpd and routers running; the announced routes may differ. */
  readonly measure: (bed: BgpBed) => Promise<readonly BgpRow[]>;
}
