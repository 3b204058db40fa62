import type { Plan } from '../model/plan.ts';

/** The plan to follow: that of the ConfigMap, unless it was lost or comes from an old backup of etcd. */
export function newestPlan(published: Plan | undefined, kept: Plan | undefined): Plan | undefined {
  if (published === undefined || kept === undefined) return published ?? kept;
  return kept.generation > published.generation ? kept : published;
}
