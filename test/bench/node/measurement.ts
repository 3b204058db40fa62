/** Result of a measurement of one node: figures, each with its floor of the same run and its target. */
import type { LabHandle } from '../../lab/lib/lab.ts';
import type { PromisedRow } from '../promise.ts';

export type NodeRow = PromisedRow<'ms' | 'MB' | '% of a core' | 'changes' | 'left' | 'errors'>;

export interface Measurement {
  readonly name: string;
  /** Of the first node of the lab's only cluster; leaves the lab as it found it. */
  readonly measure: (bed: NodeBed) => Promise<readonly NodeRow[]>;
}

export interface NodeBed {
  readonly lab: LabHandle;
  readonly cluster: string;
  readonly node: { readonly name: string; readonly dir: string; readonly netns: string };
}
