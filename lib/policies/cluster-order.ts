/**
 * Which of two policies of the whole cluster in one tier comes first. In: their names, as `Kind/name`, and what decides. Rule: the lowest priority number, of
 * equal ones the policy that was created first, and then the name. Pure.
 */
import type { ClusterRules } from './policy.ts';

export interface PlacedRules extends ClusterRules {
  readonly createdMs: number;
}

type Placed = Pick<PlacedRules, 'priority' | 'createdMs'>;

/** Negative if the first one comes first, as `sort` expects. */
export function compareInTier(
  [nameA, a]: readonly [name: string, policy: Placed],
  [nameB, b]: readonly [name: string, policy: Placed],
): number {
  return a.priority - b.priority || a.createdMs - b.createdMs || (nameA < nameB ? -1 : 1);
}
