/** Adds up the decisions of route policies over all clusters; called only when a status is to be written. */
import { overLimit } from '../settle/policy/limit.ts';
import { tally, type Decision } from '../../lib/route-policy/policy.ts';
import type { RemoteView } from '../settle/remotes.ts';
import type { PolicyFigures } from './route-policies.ts';

export function policyFigures(remotes: RemoteView, exported: readonly Decision[]): PolicyFigures {
  const decisions: (Decision | undefined)[] = [...exported];
  const refusals = [];
  for (const [, { judgement }] of remotes.entries()) {
    for (const decision of judgement.decisions) decisions.push(decision);
    refusals.push(...judgement.overLimit);
  }
  return { hits: tally(decisions), overLimit: overLimit(refusals) };
}
