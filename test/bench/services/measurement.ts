/** Result of a measurement of Services: figures, each with its floor of the same run, and that of kube-proxy where it has such a part. */
import type { PromisedRow } from '../promise.ts';

export type ServiceRow = PromisedRow<
  'ms' | 's' | 'ms of CPU' | 's of CPU' | 'rows' | 'writes' | 'connections' | 'requests'
>;

export interface Measurement {
  readonly name: string;
  readonly measure: () => Promise<readonly ServiceRow[]>;
}

/** The program in the third column of figures. */
export const peerName = 'kube-proxy';
