/** Conditions of this room's objects. Pure: the time comes by parameter. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { setCondition } from '../../lib/api/conditions.ts';

export type Verdict = Omit<Condition, 'lastTransitionTime' | 'lastUpdateTime' | 'observedGeneration'>;

export function good(type: string, reason: string, message: string): Verdict {
  return { type, status: 'True', reason, message };
}

export function bad(type: string, { code, message }: Problem): Verdict {
  return { type, status: 'False', reason: code, message };
}

export function unknown(type: string, reason: string, message: string): Verdict {
  return { type, status: 'Unknown', reason, message };
}

/** A condition as a verdict, to be written again. */
export function verdictOf(condition: Condition): Verdict {
  const { lastTransitionTime: _, lastUpdateTime: __, observedGeneration: ___, ...verdict } = condition;
  return verdict;
}

/** The list with all verdicts in it and none of other types; times of those that did not change are kept. */
export function withVerdicts(
  before: readonly Condition[] | undefined,
  verdicts: readonly Verdict[],
  nowIso: string,
  generation?: number,
): Condition[] {
  const types = new Set(verdicts.map(({ type }) => type));
  let list: readonly Condition[] = (before ?? []).filter(({ type }) => types.has(type));
  for (const verdict of verdicts) {
    list = setCondition(
      list,
      generation === undefined ? verdict : { ...verdict, observedGeneration: generation },
      nowIso,
    );
  }
  return [...list];
}

const shown = 3;

/** Some of many, so that a message stays readable. */
export function summary(problems: readonly Problem[]): string {
  const rest = problems.length - shown;
  const text = problems
    .slice(0, shown)
    .map(({ message }) => message)
    .join('; ');
  return rest > 0 ? `${text}; and ${rest} more` : text;
}
