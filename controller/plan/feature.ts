/**
 * A feature: the rows and reports of some kind of object, by key. In: the observed and settled state. Out: for each key
 * the rows it wants and what Kubernetes should hold. Called by `dirty-keys.ts` (which keys does a change concern?), by `apply/`
 * (what are the rows of this key?) and by `status/` (what should Kubernetes hold about it?). Rule: `reads` yields a key for
 * every change of a value that its plan or its report reads.
 */
import type { Desired } from '../../lib/desired/row.ts';
import type { Change } from '../model/change.ts';
import type { View } from '../model/view.ts';
import type { ObjectReport, Outcome } from './report.ts';

export interface Feature {
  /** First part of its keys. */
  readonly name: string;
  /** All its keys, without the first part: for the full round. */
  all(view: View): Iterable<string>;
  /** Keys, without the first part, whose plan or report reads the changed value. */
  reads(change: Change, view: View): Iterable<string>;
  /** Rows and contributions of one key; absent if a feature has no rows. */
  plan?(view: View, id: string): Desired;
  /** What Kubernetes should hold about one key, once its rows are written or refused. */
  report?(view: View, id: string, outcome: Outcome): readonly ObjectReport[];
  /** The key whose status includes the outcome of this one: `subnet/a` for `acl/a`. Absent if no other status does. */
  statusOf?(id: string): string;
}

export const nothing: Desired = { rows: [] };
