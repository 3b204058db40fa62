/** What is served of a rule now. */
import type { Service } from '../../../lib/services/service.ts';
import { isProblem, readRule, ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import type { SwitchLbRule } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { ruleProblem } from '../../settle/service/frontends.ts';
import { balancersOf, type Balancer } from '../service/balancers.ts';

export interface ServedRule {
  /** The Service that the rule amounts to. */
  readonly service: Service;
  readonly vpc: string;
  /** At least one. */
  readonly balancers: readonly Balancer[];
}

/** Undefined where the rule has no virtual address. */
export function servedRule(view: View, rule: SwitchLbRule | undefined): ServedRule | undefined {
  if (rule === undefined || rule.isDeleting || !view.capabilities.loadBalancers) return undefined;
  const read = readRule(rule);
  const verdict = view.serviceVerdicts.get(ruleServiceKey(rule));
  if (isProblem(read) || ruleProblem(view, rule) !== undefined) return undefined;
  if (verdict?.hasVpc !== true || verdict.refusal !== undefined) return undefined;
  const balancers = balancersOf(view, read.service);
  return balancers.length === 0 ? undefined : { service: read.service, vpc: verdict.vpc, balancers };
}
