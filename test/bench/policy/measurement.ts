/** Result of a measurement of NetworkPolicies: figures, each with its floor of the same run. */
import type { PromisedRow } from '../promise.ts';

export type PolicyRow = PromisedRow<'ms' | 's' | 's of CPU' | 'MB' | 'rows' | 'writes' | 'flows' | 'packets'>;

export interface Measurement {
  readonly name: string;
  readonly measure: () => Promise<readonly PolicyRow[]>;
}

export const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);
