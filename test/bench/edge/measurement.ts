/** Result of a measurement of addresses outside: figures, each with its floor of the same run. */
import type { PromisedRow } from '../promise.ts';

export type EdgeRow = PromisedRow<'ms' | 's' | 'writes'>;

export interface Measurement {
  readonly name: string;
  readonly measure: () => Promise<readonly EdgeRow[]>;
}
