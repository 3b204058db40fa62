/** The statuses of the rules that use addresses outside. */
import type { Problem } from '../../../lib/desired/problem.ts';
import { eipAt, eipRef } from '../../model/external-objects.ts';
import { externalRuleKinds, ruleObject } from '../../model/external-rules.ts';
import type { AddressRule, AddressRuleStore, ObjectRuleStore } from '../../model/external-rules.ts';
import type { ApiObjectFacts } from '../../model/object-facts.ts';
import type { ExternalRule } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleKey } from '../../settle/external/external-rules.ts';
import { gatewayPortKey } from '../../settle/external/external-subnets.ts';
import { obstacleConditions } from '../conditions.ts';
import { failure, refusalEvents } from '../events.ts';
import { withoutFormer } from '../finalizers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome, WantedEvent } from '../report.ts';
import { holderProblem } from './holder.ts';
import { isInForce } from './rule-rows.ts';

function sides(rule: ExternalRule | undefined, suffix: 'Ip' | 'IpCidr'): Readonly<Record<string, string>> {
  const of = (family: 4 | 6, side: 'outside' | 'inside'): string =>
    rule?.pairs.find((pair) => pair.family === family)?.[side] ?? '';
  return {
    vpc: rule?.vpc ?? '',
    v4Eip: of(4, 'outside'),
    v6Eip: of(6, 'outside'),
    [`v4${suffix}`]: of(4, 'inside'),
    [`v6${suffix}`]: of(6, 'inside'),
  };
}

/** Fields of the status beside `ready`. */
function ovnFields(object: AddressRule, rule: ExternalRule | undefined): Readonly<Record<string, string>> {
  if (object.use === 'snat') return sides(rule, 'IpCidr');
  if (object.use === 'fip') return { ...sides(rule, 'Ip'), macAddress: rule?.local?.mac ?? '' };
  const { internalPort, externalPort, protocol, ipName } = object.rule.spec;
  return { ...sides(rule, 'Ip'), internalPort, externalPort, protocol, ipName };
}

/** The same of a rule of a VpcNatGateway. */
function iptablesFields(
  view: View,
  object: AddressRule,
  rule: ExternalRule | undefined,
): Readonly<Record<string, string>> {
  const [pair] = rule?.pairs ?? [];
  const inside = pair?.inside ?? '';
  const sidesOf = {
    v4ip: pair?.outside ?? '',
    v6ip: '',
    natGwDp: eipAt(view, object.rule.spec.eip)?.spec.natGateway ?? '',
  };
  if (object.use === 'snat') return { ...sidesOf, internalCIDR: inside };
  if (object.use === 'fip') return { ...sidesOf, internalIp: inside };
  const { internalPort, externalPort, protocol } = object.rule.spec;
  return { ...sidesOf, internalIp: inside, internalPort, externalPort, protocol };
}

/** An event about what the rule waits for, unless its status shows it already. */
function obstacleEvents(
  { conditions }: ApiObjectFacts,
  kind: string,
  obstacle: Problem | undefined,
): readonly WantedEvent[] {
  const before = conditions.find(({ type }) => type === 'Ready');
  if (obstacle === undefined || before?.message === obstacle.message) return [];
  return [failure(`${kind}NotReady`, obstacle)];
}

/** A distributed address is on the node of its pod, whichever node has the port. */
export function pendingOf(
  view: View,
  { vpc, subnet, local }: ExternalRule,
  { conditions }: ApiObjectFacts,
): Problem | undefined {
  const port = view.gatewayPorts.get(gatewayPortKey(vpc, subnet));
  return local === undefined ? holderProblem(view, port, conditions) : undefined;
}

export function reportRule(
  view: View,
  store: AddressRuleStore & ObjectRuleStore,
  name: string,
  outcome: Outcome,
): readonly ObjectReport[] {
  const object = { kind: store, name } as const;
  const read = ruleObject(view, store, name);
  if (read === undefined) return [{ object }];
  const { rule } = read;
  const finalizers = withoutFormer(rule.finalizers);
  if (rule.isDeleting) return [{ object, finalizers }];
  const verdict = view.externalRules.get(ruleKey(store, name));
  const refused = refusalOf(outcome);
  const inForce = isInForce(verdict) ? verdict : undefined;
  const waits = refused ?? verdict?.obstacle;
  // A new port has no holder for a moment, which is no event.
  const obstacle = waits ?? (inForce && pendingOf(view, inForce, rule));
  const { kind } = externalRuleKinds[store];
  const conditions = obstacleConditions(rule.generation, verdict?.refusal, obstacle, `${kind}Ready`);
  const events = [
    ...refusalEvents(`Validate${kind}Failed`, conditions, rule.conditions),
    ...(verdict?.refusal === undefined ? obstacleEvents(rule, kind, waits) : []),
  ];
  const isOfGateway = eipRef(rule.spec.eip).kind === 'iptablesEips';
  const sidesOf = isOfGateway ? iptablesFields(view, read, inForce) : ovnFields(read, inForce);
  // Without a holder the rows are in OVN all the same: the spec stays fixed, so that no edit takes what another rule has.
  const fields = { ready: inForce !== undefined && refused === undefined, ...sidesOf };
  return [{ object, finalizers, status: { fields, conditions, events } }];
}
