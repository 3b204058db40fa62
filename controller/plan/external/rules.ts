/**
 * OvnFips, OvnSnatRules and OvnDnatRules. In: the verdict on a rule. Out: its rows on the router of the VPC, and its status. Rule: the rows of a
 * rule and those of its port outside are one transaction.
 */
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { backendKey } from '../../../lib/services/backends.ts';
import type { Change } from '../../model/change.ts';
import type { ExternalRuleStore } from '../../model/external-objects.ts';
import type { ExternalRule } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleKey } from '../../settle/external/external-rules.ts';
import { gatewayPortName } from '../../settle/external/external-subnets.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority } from '../names.ts';
import { balancerOf, balancerRows } from './balancer.ts';
import { togetherWith } from './gateway-port.ts';
import { reportRule } from './report.ts';
import { isInForce, natRow, prefixLengthOf, wayOutRows } from './rule-rows.ts';

interface Planned {
  readonly rows: readonly DesiredRow[];
  readonly contributions?: readonly Contribution[];
}

function planFip(_: View, name: string, rule: ExternalRule): Planned {
  const key = `fip/${name}`;
  const rows = rule.pairs.flatMap((pair) => {
    const source = `${matchFamily(pair.family)}.src == ${pair.inside}`;
    const way = wayOutRows(key, rule.vpc, pair, { source, priority: policyPriority.externalAddress });
    return [natRow(key, 'dnat_and_snat', rule, pair), ...way];
  });
  return { rows };
}

function planSnat(_: View, name: string, rule: ExternalRule): Planned {
  const key = `snat/${name}`;
  const rows = rule.pairs.flatMap((pair) => {
    const source = `${matchFamily(pair.family)}.src == ${pair.inside}`;
    const priority = policyPriority.external + prefixLengthOf(pair);
    return [natRow(key, 'snat', rule, pair), ...wayOutRows(key, rule.vpc, pair, { source, priority })];
  });
  return { rows };
}

function planDnat(view: View, name: string, { vpc, pairs }: ExternalRule): Planned {
  const object = view.ovnDnatRules.get(name);
  if (object === undefined) return nothing;
  const key = `dnat/${name}`;
  const { protocol, internalPort, externalPort } = object.spec;
  const vips = pairs.map(({ outside, inside }) => [
    backendKey(outside, Number(externalPort)),
    backendKey(inside, Number(internalPort)),
  ]);
  const entries = Object.fromEntries(vips) as Readonly<Record<string, string>>;
  const ways = pairs.flatMap((pair) => {
    const source = `${matchFamily(pair.family)}.src == ${pair.inside} && ${protocol}.src == ${internalPort}`;
    return wayOutRows(key, vpc, pair, { source, priority: policyPriority.externalReply });
  });
  const balancer = balancerOf(object);
  const contribution: Contribution = { table: 'Load_Balancer', key: balancer, column: 'vips', entries, required: true };
  // A load balancer that a Kube-OVN made for one rule has its name; others belong to the OvnEip.
  const own = object.isFormer ? balancerRows(balancer, protocol, [vpc]) : { rows: [], contributions: [] };
  return { rows: [...own.rows, ...ways], contributions: [...own.contributions, contribution] };
}

const planners: Readonly<Record<ExternalRuleStore, (view: View, name: string, rule: ExternalRule) => Planned>> = {
  ovnFips: planFip,
  ovnSnatRules: planSnat,
  ovnDnatRules: planDnat,
};

function planRule(view: View, store: ExternalRuleStore, name: string): Desired {
  const rule = view.externalRules.get(ruleKey(store, name));
  const object = view[store].get(name);
  if (object === undefined || !isInForce(rule)) return nothing;
  return { ...planners[store](view, name, rule), createdMs: object.createdMs, together: togetherWith(rule) };
}

/** Rules whose port got its first holder, or lost the last. Which node it is does not matter to them. */
function* waitingFor(
  view: View,
  store: ExternalRuleStore,
  { name, before, after }: Extract<Change, { readonly kind: 'gatewayHolders' }>,
): Generator<string> {
  if (name === '') yield* view[store].keys();
  else if ((before === undefined) !== (after === undefined))
    for (const [key, { vpc, subnet }] of view.externalRules)
      if (key.startsWith(`${store}/`) && gatewayPortName({ vpc, subnet }) === name) yield key.slice(store.length + 1);
}

/** Keys: the name of the rule. */
function featureOf(store: ExternalRuleStore, name: string): Feature {
  return {
    name,
    all: (view) => view[store].keys(),
    *reads(change, view) {
      if (change.kind === store) yield change.name;
      else if (change.kind === 'gatewayHolders') yield* waitingFor(view, store, change);
      else if (change.kind === 'externalRules' && change.name.startsWith(`${store}/`))
        yield change.name.slice(store.length + 1);
    },
    plan: (view, id) => planRule(view, store, id),
    report: (view, id, outcome) => reportRule(view, store, id, outcome),
  };
}

export const fipFeature = featureOf('ovnFips', 'ovn-fip');
export const snatRuleFeature = featureOf('ovnSnatRules', 'ovn-snat-rule');
export const dnatRuleFeature = featureOf('ovnDnatRules', 'ovn-dnat-rule');
