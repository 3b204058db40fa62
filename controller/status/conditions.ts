import type { Condition } from '../../lib/api/kinds/shared.ts';
import { setCondition } from '../../lib/api/conditions.ts';
import type { WantedCondition } from '../plan/report.ts';

/** The conditions an object should have; the very list of `observed` where nothing differs. */
export function mergeConditions(
  observed: readonly Condition[],
  wanted: readonly WantedCondition[],
  nowMs: number,
): readonly Condition[] {
  const now = new Date(nowMs).toISOString();
  if (wanted.some(({ node }) => node !== undefined)) return mergeByNode(observed, wanted, now);
  return wanted.reduce((all, one) => setCondition(all, one, now), observed);
}

function keyOf({ type, node = '' }: WantedCondition): string {
  return `${type}/${node}`;
}

/** `wanted` are all conditions of their types: those of nodes that are gone are removed. */
function mergeByNode(
  observed: readonly Condition[],
  wanted: readonly WantedCondition[],
  now: string,
): readonly Condition[] {
  const before = new Map(observed.map((one) => [keyOf(one), one]));
  const types = new Set(wanted.map(({ type }) => type));
  const others = observed.filter(({ type }) => !types.has(type));
  // One list for each: `setCondition` knows one condition per type.
  const own = wanted.map((one) => {
    const last = before.get(keyOf(one));
    return setCondition(last === undefined ? [] : [last], one, now)[0] ?? one;
  });
  const merged = [...own, ...others];
  const isSame = merged.length === observed.length && merged.every((one) => before.get(keyOf(one)) === one);
  return isSame ? observed : merged;
}
