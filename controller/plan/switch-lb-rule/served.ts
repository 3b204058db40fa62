/** What is served of a rule now. */
import { familyOf } from '../../../lib/net/ip.ts';
import type { Service } from '../../../lib/services/service.ts';
import { isProblem, readRule, ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import type { LbRule } from '../../model/objects.ts';
import type { ExternalRule } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleKey } from '../../settle/external/external-rules.ts';
import { ruleProblem, ruleService } from '../../settle/service/frontends.ts';
import { isInForce } from '../external/rule-rows.ts';
import { balancersOf, type Balancer } from '../service/balancers.ts';

export interface ServedRule {
  /** The Service that the rule amounts to. */
  readonly service: Service;
  readonly vpc: string;
  /** At least one. */
  readonly balancers: readonly Balancer[];
  /** Of a RouterLBRule: the verdict on its use of the address outside. */
  readonly outside?: ExternalRule;
}

/** The verdict on a RouterLBRule's use of its OvnEip; undefined for a SwitchLBRule. */
export function outsideOf(view: View, rule: LbRule): ExternalRule | undefined {
  return rule.kind === 'RouterLBRule' ? view.externalRules.get(ruleKey('routerLbRules', rule.name)) : undefined;
}

/** Undefined where the rule has no virtual address. */
export function servedRule(view: View, rule: LbRule | undefined): ServedRule | undefined {
  if (rule === undefined || rule.isDeleting || !view.capabilities.loadBalancers) return undefined;
  const read = readRule(rule);
  const verdict = view.serviceVerdicts.get(ruleServiceKey(rule));
  if (isProblem(read) || ruleProblem(view, rule) !== undefined) return undefined;
  if (verdict?.hasVpc !== true || verdict.refusal !== undefined) return undefined;
  const service = ruleService(view, rule, read);
  const balancers = balancersOf(view, service);
  if (rule.kind === 'SwitchLBRule')
    return balancers.length === 0 ? undefined : { service, vpc: verdict.vpc, balancers };
  const outside = outsideOf(view, rule);
  if (!isInForce(outside)) return undefined;
  const families = new Set(outside.outside?.map(familyOf));
  const served = balancers.filter(({ family }) => families.has(family));
  return served.length === 0 ? undefined : { service, vpc: outside.vpc, balancers: served, outside };
}
