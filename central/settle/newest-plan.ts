import type { Plan } from '../model/plan.ts';

/** The plan to follow: that of the ConfigMap, unless it was lost or comes from an old backup of etcd. */
export function newestPlan(told: Plan | undefined, kept: Plan | undefined): Plan | undefined {
  if (told === undefined || kept === undefined) return told ?? kept;
  return kept.generation > told.generation ? kept : told;
}
