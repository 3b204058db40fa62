/** What became of an export. Pure. */
import type { Condition } from '../../../lib/api/kinds/shared.ts';
import { conditionOf } from '../../model/snapshot.ts';

export interface ExportVerdict {
  readonly isExported: boolean;
  readonly code: string;
  readonly message: string;
}

/** Undefined while that is not decided: the agent has not seen it, or the hub has not answered. */
export function exportVerdict(
  conditions: readonly Condition[],
  generation: number | undefined,
): ExportVerdict | undefined {
  const isCurrent = ({ observedGeneration }: Condition): boolean =>
    observedGeneration === undefined || observedGeneration === generation;
  const [valid, ready, conflict] = ['Valid', 'Ready', 'Conflict'].map((type) => {
    const condition = conditionOf(conditions, type);
    return condition !== undefined && isCurrent(condition) ? condition : undefined;
  });
  if (valid?.status === 'False') return verdictOf(false, valid);
  if (ready?.status === 'False' && ready.reason === 'Failed') return verdictOf(false, ready);
  if (ready?.status !== 'True') return undefined;
  return verdictOf(true, conflict?.status === 'True' ? conflict : ready);
}

function verdictOf(isExported: boolean, { reason, message }: Condition): ExportVerdict {
  return { isExported, code: reason ?? 'Failed', message: message ?? '' };
}
