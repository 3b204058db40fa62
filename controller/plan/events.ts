import type { Problem } from '../../lib/desired/problem.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { WantedCondition, WantedEvent } from './report.ts';

/** `CidrOverlap: …`, with the reason that names the failed step. */
export function failure(reason: string, { code, message }: Problem): WantedEvent {
  return { type: 'Warning', reason, message: `${code}: ${message}` };
}

/** An event where the spec is refused for a reason that the observed conditions do not have yet. */
export function refusalEvents(
  reason: string,
  conditions: readonly WantedCondition[],
  observed: readonly Condition[],
): readonly WantedEvent[] {
  const is = conditions.find(({ type }) => type === 'Validated');
  const was = observed.find(({ type }) => type === 'Validated');
  if (is?.status !== 'False' || (was?.status === 'False' && was.message === is.message)) return [];
  return [failure(reason, { code: is.reason ?? '', message: is.message ?? '' })];
}
