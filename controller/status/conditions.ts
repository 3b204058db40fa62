import type { Condition } from '../../lib/api/kinds/shared.ts';
import { setCondition } from '../../lib/kube/conditions.ts';
import type { WantedCondition } from '../plan/conditions.ts';

/** The conditions an object should have; the very same list where nothing is to be said that it does not say. */
export function mergeConditions(
  observed: readonly Condition[],
  wanted: readonly WantedCondition[],
  nowMs: number,
): readonly Condition[] {
  const now = new Date(nowMs).toISOString();
  return wanted.reduce((all, one) => setCondition(all, one, now), observed);
}
