/**
 * A feature: what Isthmus makes of some objects, cut into keys. In: the state, and what is settled of it. Out: for each key the rows it wants. Called
 * by `dirty-keys.ts` (which keys does a change concern?) and by `apply/` (what are the rows of this key?). The rule
 * that must not be broken: whatever a plan reads, `reads` answers to when it changes.
 */
import type { Desired } from '../../lib/desired/row.ts';
import type { Change } from '../model/change.ts';
import type { View } from '../model/view.ts';

export interface Feature {
  /** First part of its keys. */
  readonly name: string;
  /** What its keys go on with, for everything there is: the full round. */
  all(view: View): Iterable<string>;
  /** What the keys go on with whose plans, or whose status, read what changed. */
  reads(change: Change, view: View): Iterable<string>;
  /** Rows and contributions of one key; absent where there is only a status to tell. */
  plan?(view: View, id: string): Desired;
}

export const nothing: Desired = { rows: [] };
