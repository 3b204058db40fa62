import type { Condition } from '../../lib/api/kinds/shared.ts';
import { setCondition } from '../../lib/api/conditions.ts';
import type { WantedCondition } from '../plan/conditions.ts';
import type { NetworkCondition } from '../plan/underlay/provider-network.ts';

/** The conditions an object should have; the very same list where nothing is to be said that it does not say. */
export function mergeConditions(
  observed: readonly Condition[],
  wanted: readonly WantedCondition[],
  nowMs: number,
): readonly Condition[] {
  const now = new Date(nowMs).toISOString();
  return wanted.reduce((all, one) => setCondition(all, one, now), observed);
}

/**
 * The same for conditions of a type for each node: `wanted` are all there are to be of their types, so that those of nodes
 * that are gone go.
 */
export function mergeNodeConditions(
  observed: readonly Condition[],
  wanted: readonly NetworkCondition[],
  nowMs: number,
): readonly Condition[] {
  const now = new Date(nowMs).toISOString();
  const keyOf = (one: Pick<Condition, 'type'> & Partial<Pick<NetworkCondition, 'node'>>): string =>
    `${one.type}/${one.node ?? ''}`;
  const before = new Map(observed.map((one) => [keyOf(one), one]));
  const types = new Set(wanted.map(({ type }) => type));
  const others = observed.filter(({ type }) => !types.has(type));
  // A list of its own for each: the types are those of the keys.
  const own = wanted.map((one) => {
    const last = before.get(keyOf(one));
    return setCondition(last === undefined ? [] : [last], one, now)[0] ?? one;
  });
  const merged = [...own, ...others];
  const isSame = merged.length === observed.length && merged.every((one) => before.get(keyOf(one)) === one);
  return isSame ? observed : merged;
}
