import { fieldsOf, type Fields } from '../kube/fields.ts';
import type { Condition } from './kinds/shared.ts';

/** The conditions of a raw status; members that are no conditions count as absent. */
export function conditionsOf(status: Fields): readonly Condition[] {
  const conditions = Array.isArray(status['conditions']) ? status['conditions'] : [];
  return conditions.filter(isCondition);
}

function isCondition(value: unknown): value is Condition {
  const { observedGeneration = 0, ...texts } = fieldsOf(value);
  const hasTexts = Object.values(texts).every((text) => typeof text === 'string');
  return hasTexts && 'type' in texts && 'status' in texts && typeof observedGeneration === 'number';
}

/**
 * The list with `condition` set by its type. `lastTransitionTime` becomes `nowIso` only if the status changed. Returns the
 * same list if nothing differs, so that nothing is written. Pure.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: Omit<Condition, 'lastTransitionTime' | 'lastUpdateTime'>,
  nowIso: string,
): readonly Condition[] {
  const list = conditions ?? [];
  const before = list.find((item) => item.type === condition.type);
  const isSame =
    before !== undefined &&
    (['status', 'reason', 'message', 'observedGeneration'] as const).every(
      (field) => before[field] === condition[field],
    );
  if (isSame) return list;
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined;
  const after: Condition = { ...condition, lastTransitionTime: since ?? nowIso };
  return before === undefined ? [...list, after] : list.map((item) => (item === before ? after : item));
}
