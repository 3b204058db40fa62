/** Load balancers of published ports: one for each address outside and protocol, to which rules contribute their ports. */
import type { Contribution, DesiredRow } from '../../../lib/desired/row.ts';
import { backendKey } from '../../../lib/services/backends.ts';
import { ruleObject } from '../../model/external-rules.ts';
import type { OvnDnatRule } from '../../model/external-objects.ts';
import type { ExternalRule } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { ruleAt, rulesAt } from '../../settle/external/external-rules.ts';
import { vendorIds } from '../names.ts';
import { routerMembership } from '../service/group.ts';
import { isInForce } from './rule-rows.ts';

/** A name that no load balancer of a Kube-OVN has, which are named as their rules. */
export function eipBalancer(id: string, protocol: string): string {
  return `eip@${id}/${protocol}`;
}

export function balancerOf({ name, isFormer, spec }: OvnDnatRule): string {
  return isFormer ? name : eipBalancer(spec.eip, spec.protocol);
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
    contributions: routers.map((router) => routerMembership(router, [key])),
  };
}

/** The port outside of a rule, and the port inside that it leads to, in each family. */
export function vipsOf({ spec }: OvnDnatRule, { pairs }: ExternalRule): readonly (readonly [string, string])[] {
  return pairs.map(({ outside, inside }) => [
    backendKey(outside, Number(spec.externalPort)),
    backendKey(inside, Number(spec.internalPort)),
  ]);
}

/** Those of an address outside that rules in force need, and the ports that several rules share. */
export function eipBalancers(view: View, id: string): BalancerRows {
  const routers = new Map<string, string>();
  const shared = new Map<string, Map<string, Set<string>>>();
  for (const key of rulesAt(view.indexes, 'externalRulesByEip', id)) {
    const at = ruleAt(key);
    const object = at && ruleObject(view, at.store, at.name);
    const verdict = view.externalRules.get(key);
    if (object?.use !== 'dnat' || object.rule.isFormer || !isInForce(verdict)) continue;
    const { protocol } = object.rule.spec;
    routers.set(protocol, verdict.vpc);
    if (!object.rule.isShared) continue;
    const vips = shared.get(protocol) ?? new Map<string, Set<string>>();
    shared.set(protocol, vips);
    for (const [vip, backend] of vipsOf(object.rule, verdict)) vips.set(vip, (vips.get(vip) ?? new Set()).add(backend));
  }
  const each = [...routers.keys()].sort().map((protocol) => {
    const vpc = routers.get(protocol);
    return balancerRows(eipBalancer(id, protocol), protocol, vpc === undefined ? [] : [vpc]);
  });
  const vips = [...shared].map(([protocol, backends]): Contribution => ({
    table: 'Load_Balancer',
    key: eipBalancer(id, protocol),
    column: 'vips',
    entries: Object.fromEntries([...backends].map(([vip, all]) => [vip, [...all].sort().join(',')])),
  }));
  return {
    rows: each.flatMap(({ rows }) => rows),
    contributions: [...each.flatMap(({ contributions }) => contributions), ...vips],
  };
}
