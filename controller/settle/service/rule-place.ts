import { defaultVpc } from '../../../lib/api/names.ts';
import type { Service } from '../../../lib/services/service.ts';
import type { LbRule } from '../../model/objects.ts';
import { ruleServiceKey } from '../../../lib/services/switch-lb-rule.ts';
import type { View } from '../../model/view.ts';
import { checkedPorts } from './checked-ports.ts';
import { placeOfService, type Place } from './endpoint-vpcs.ts';
import { readVips } from './rule-address.ts';

/**
 * The VPC of a rule is found as that of a Service. Without endpoints it is that of its namespace: a rule must not lose its virtual address
 * to another object meanwhile. `ports` are those whose addresses were read.
 */
export function placeOfRule(
  view: View,
  rule: LbRule,
  service: Service,
): { readonly place: Place; readonly ports: readonly string[] } {
  const key = ruleServiceKey(rule);
  const place = placeOfService(view, key, service, view.binding(service.namespace).vpc ?? defaultVpc);
  // Whether a RouterLBRule may have the ports of its OvnEip is decided in `settle/external`.
  const { problem, ports } =
    rule.kind === 'RouterLBRule' ? { problem: undefined, ports: [] } : readVips(view, place.vpc, service);
  if (problem !== undefined) return { place: { ...place, refusal: problem }, ports };
  const backends = checkedPorts(view, rule, key, place.vpc);
  return { place: { ...place, checked: backends.checked }, ports: [...ports, ...backends.ports] };
}
