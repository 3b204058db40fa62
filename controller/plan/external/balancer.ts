/** Load balancers of OvnDnatRules: one for each OvnEip and protocol, to which rules contribute their ports. */
import { ref, type Contribution, type DesiredRow } from '../../../lib/desired/row.ts';
import type { OvnDnatRule } from '../../model/external-objects.ts';
import type { View } from '../../model/view.ts';
import { ruleKey } from '../../settle/external/external-rules.ts';
import { vendorIds } from '../names.ts';
import { isInForce } from './rule-rows.ts';

/** A name that no load balancer of a Kube-OVN has, which are named as their rules. */
export function eipBalancer(eip: string, protocol: string): string {
  return `eip@${eip}/${protocol}`;
}

export function balancerOf({ name, isFormer, spec }: OvnDnatRule): string {
  return isFormer ? name : eipBalancer(spec.ovnEip, spec.protocol);
}

export interface BalancerRows {
  readonly rows: readonly DesiredRow[];
  readonly contributions: readonly Contribution[];
}

export function balancerRows(key: string, protocol: string, routers: readonly string[]): BalancerRows {
  return {
    rows: [
      {
        table: 'Load_Balancer',
        key,
        columns: {
          protocol,
          selection_fields: [],
          // Datagrams of a known connection would go to a former backend.
          options: protocol === 'udp' ? { ct_flush: 'true' } : {},
          external_ids: vendorIds,
        },
        collects: ['vips'],
      },
    ],
    contributions: routers.map((router) => ({
      table: 'Logical_Router',
      key: router,
      column: 'load_balancer',
      values: [ref('Load_Balancer', key)],
    })),
  };
}

/** Those of an OvnEip that rules in force need. */
export function eipBalancers(view: View, eip: string): BalancerRows {
  const routers = new Map<string, string>();
  for (const name of view.indexes.externalRulesByEip.ovnDnatRules.of(eip)) {
    const rule = view.ovnDnatRules.get(name);
    const verdict = view.externalRules.get(ruleKey('ovnDnatRules', name));
    if (rule !== undefined && !rule.isFormer && isInForce(verdict)) routers.set(rule.spec.protocol, verdict.vpc);
  }
  const each = [...routers.keys()].sort().map((protocol) => {
    const vpc = routers.get(protocol);
    return balancerRows(eipBalancer(eip, protocol), protocol, vpc === undefined ? [] : [vpc]);
  });
  return { rows: each.flatMap(({ rows }) => rows), contributions: each.flatMap(({ contributions }) => contributions) };
}
