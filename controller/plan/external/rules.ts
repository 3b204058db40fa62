/**
 * Rules that use addresses outside: OvnFips, OvnSnatRules, OvnDnatRules, those of VpcNatGateways, and annotations of pods. In: the verdict on a rule. Out: its rows on the router of the VPC, and its status. Rule: the rows of a
 * rule and those of its port outside are one transaction.
 */
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { Change } from '../../model/change.ts';
import { iptablesEipId } from '../../model/external-objects.ts';
import type { OvnDnatRule } from '../../model/external-objects.ts';
import { isPodRuleStore, outsideText, ruleObject } from '../../model/external-rules.ts';
import type {
  AddressRule,
  AddressRuleStore,
  ExternalRuleStore,
  ObjectRuleStore,
  PodRuleStore,
} from '../../model/external-rules.ts';
import type { ExternalRule } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleKey } from '../../settle/external/external-rules.ts';
import { gatewayPortName } from '../../settle/external/external-subnets.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority } from '../names.ts';
import { balancerOf, balancerRows, vipsOf } from './balancer.ts';
import { togetherWith } from './gateway-port.ts';
import { reportRule } from './report.ts';
import { isInForce, natRow, prefixLengthOf, wayOutRows } from './rule-rows.ts';

interface Planned {
  readonly rows: readonly DesiredRow[];
  readonly contributions?: readonly Contribution[];
}

/** The first part of the keys of a rule's rows. */
const rowPrefixes: Readonly<Record<AddressRuleStore, string>> = {
  ovnFips: 'fip',
  ovnSnatRules: 'snat',
  ovnDnatRules: 'dnat',
  iptablesFips: 'iptables-fip',
  iptablesSnats: 'iptables-snat',
  iptablesDnats: 'iptables-dnat',
  podFips: 'pod-fip',
  podSnats: 'pod-snat',
};

function planFip(key: string, rule: ExternalRule): Planned {
  const rows = rule.pairs.flatMap((pair) => {
    const source = `${matchFamily(pair.family)}.src == ${pair.inside}`;
    const way = wayOutRows(key, rule, pair, { source, priority: policyPriority.externalAddress });
    return [natRow(key, 'dnat_and_snat', rule, pair), ...way];
  });
  return { rows };
}

function planSnat(key: string, rule: ExternalRule): Planned {
  const rows = rule.pairs.flatMap((pair) => {
    const source = `${matchFamily(pair.family)}.src == ${pair.inside}`;
    const priority = policyPriority.external + prefixLengthOf(pair);
    return [natRow(key, 'snat', rule, pair), ...wayOutRows(key, rule, pair, { source, priority })];
  });
  return { rows };
}

function planDnat(key: string, object: OvnDnatRule, rule: ExternalRule): Planned {
  const { vpc, pairs } = rule;
  const { protocol, internalPort } = object.spec;
  const ways = pairs.flatMap((pair) => {
    const source = `${matchFamily(pair.family)}.src == ${pair.inside} && ${protocol}.src == ${internalPort}`;
    return wayOutRows(key, rule, pair, { source, priority: policyPriority.externalReply });
  });
  // The plan of the address has the ports that several rules share.
  if (object.isShared) return { rows: ways };
  const balancer = balancerOf(object);
  const entries = Object.fromEntries(vipsOf(object, rule)) as Readonly<Record<string, string>>;
  const contribution: Contribution = { table: 'Load_Balancer', key: balancer, column: 'vips', entries, required: true };
  // A load balancer that a Kube-OVN made for one rule has its name; others belong to the address outside.
  const own = object.isFormer ? balancerRows(balancer, protocol, [vpc]) : { rows: [], contributions: [] };
  return { rows: [...own.rows, ...ways], contributions: [...own.contributions, contribution] };
}

function plannedOf(key: string, object: AddressRule, rule: ExternalRule): Planned {
  if (object.use === 'fip') return planFip(key, rule);
  return object.use === 'snat' ? planSnat(key, rule) : planDnat(key, object.rule, rule);
}

function planRule(view: View, store: AddressRuleStore, name: string): Desired {
  const rule = view.externalRules.get(ruleKey(store, name));
  const object = ruleObject(view, store, name);
  if (object === undefined || !isInForce(rule)) return nothing;
  const key = `${rowPrefixes[store]}/${name}`;
  return { ...plannedOf(key, object, rule), createdMs: object.rule.createdMs, together: togetherWith(rule) };
}

/** Rules whose port got its first holder, or lost the last. Which node it is does not matter to them. */
function* waitingFor(
  view: View,
  store: ExternalRuleStore,
  { name, before, after }: Extract<Change, { readonly kind: 'gatewayHolders' }>,
): Generator<string> {
  if (name === '') yield* isPodRuleStore(store) ? view.indexes.podsByRule.of(store) : view[store].keys();
  else if ((before === undefined) !== (after === undefined))
    for (const [key, { vpc, subnet }] of view.externalRules)
      if (key.startsWith(`${store}/`) && gatewayPortName({ vpc, subnet }) === name) yield key.slice(store.length + 1);
}

/** Rules whose verdict, or whose holder, the change is about. */
export function verdictsReading(
  change: Extract<Change, { readonly kind: 'gatewayHolders' | 'externalRules' }>,
  view: View,
  store: ExternalRuleStore,
): Iterable<string> {
  if (change.kind === 'gatewayHolders') return waitingFor(view, store, change);
  return change.name.startsWith(`${store}/`) ? [change.name.slice(store.length + 1)] : [];
}

/** Keys: the name of the rule. */
function featureOf(store: AddressRuleStore & ObjectRuleStore, name: string): Feature {
  return {
    name,
    all: (view) => view[store].keys(),
    *reads(change, view) {
      if (change.kind === store) yield change.name;
      else if (change.kind === 'gatewayHolders' || change.kind === 'externalRules')
        yield* verdictsReading(change, view, store);
      // The status names the VpcNatGateway.
      else if (change.kind === 'iptablesEips' && change.before?.spec.natGateway !== change.after?.spec.natGateway)
        yield* view.indexes.externalRulesByEip[store].of(iptablesEipId(change.name));
    },
    plan: (view, id) => planRule(view, store, id),
    report: (view, id, outcome) => reportRule(view, store, id, outcome),
  };
}

export const fipFeature = featureOf('ovnFips', 'ovn-fip');
export const snatRuleFeature = featureOf('ovnSnatRules', 'ovn-snat-rule');
export const dnatRuleFeature = featureOf('ovnDnatRules', 'ovn-dnat-rule');
export const iptablesFipFeature = featureOf('iptablesFips', 'iptables-fip');
export const iptablesSnatFeature = featureOf('iptablesSnats', 'iptables-snat');
export const iptablesDnatFeature = featureOf('iptablesDnats', 'iptables-dnat');

/** Keys: `namespace/name` of the pod, whose status has the outcome. */
function podFeatureOf(store: PodRuleStore, name: string): Feature {
  return {
    name,
    all: (view) => view.indexes.podsByRule.of(store),
    *reads(change, view) {
      if (change.kind === 'gatewayHolders' || change.kind === 'externalRules')
        yield* verdictsReading(change, view, store);
      else if (change.kind === 'pods') {
        const pods = [change.before, change.after].flatMap((pod) => pod ?? []);
        if (pods.some((pod) => outsideText(pod, store) !== undefined)) yield change.name;
      }
    },
    plan: (view, id) => planRule(view, store, id),
    statusOf: (id) => `pod/${id}`,
  };
}

export const podFipFeature = podFeatureOf('podFips', 'pod-fip');
export const podSnatFeature = podFeatureOf('podSnats', 'pod-snat');
