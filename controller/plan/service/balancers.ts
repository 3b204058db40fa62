/**
 * The load balancers of a Service: a row for each protocol and family, with all virtual addresses. If clients of different nodes have
 * different backends, the row refers to a template variable, which has a value for the chassis of each node (`places.ts`).
 */
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { backendsText, balancerColumns, vipText } from '../../../lib/services/balancer.ts';
import {
  type Backend,
  backendsAt,
  backendsOf,
  clusterBackends,
  hasTopology,
  localBackends,
  type Place,
} from '../../../lib/services/backends.ts';
import { type EndpointSlice, type Service, serviceKey } from '../../../lib/services/service.ts';
import { variableName } from '../../../lib/services/variables.ts';
import { type ServiceVip, vipId } from '../../../lib/services/vips.ts';
import { vipsInOvn } from '../../model/service-vips.ts';
import type { View } from '../../model/view.ts';
import { ruleKey } from '../../settle/external/external-rules.ts';
import { ruleAt, slicesInVpc, withoutAddresses } from '../../settle/service/frontends.ts';
import { vendorIds } from '../names.ts';

/** Which backends a client gets. `local`: those of its node; `hints`: those whose hints name its place; `all`: the same as all other clients. */
type Choice = 'local' | 'hints' | 'all';

/** A template variable of a load balancer, and its value for clients at a place; the value is empty if they have no backend. */
export interface BalancerVariable {
  readonly name: string;
  readonly valueAt: (place: Place) => string;
}

/** The load balancer of one protocol and family. */
export interface Balancer {
  readonly protocol: ServiceVip['protocol'];
  readonly family: Family;
  /** Virtual address → backends, in the notation of OVN. Without backends, OVN rejects connections. */
  readonly vips: Readonly<Record<string, string>>;
  readonly variables: readonly BalancerVariable[];
  /** Virtual addresses that may have no endpoint on a node. */
  readonly localVips: readonly ServiceVip[];
}

/** A virtual address with all backends of its port. */
interface ServedVip {
  readonly vip: ServiceVip;
  readonly all: readonly Backend[];
  readonly choice: Choice;
}

/** The load balancers of a Service, without virtual addresses that an older Service has. */
export function balancersOf(view: View, service: Service): readonly Balancer[] {
  const key = serviceKey(service);
  const { takenVips = {} } = view.serviceVerdicts.get(key) ?? {};
  const reached = reachedSlices(view, key);
  const groups = new Map<string, ServedVip[]>();
  for (const vip of vipsInOvn(service, view.capabilities)) {
    if (takenVips[vipId(vip)] !== undefined) continue;
    const all = backendsOf(reached, vip.port, vip.family);
    const group = `${vip.protocol}/${vip.family}`;
    groups.set(group, [...(groups.get(group) ?? []), { vip, all, choice: choiceOf(service, vip, all) }]);
  }
  return [...groups.values()].flatMap((served) => balancerOf(key, served) ?? []);
}

/** The EndpointSlices of a Service or rule that serve it: without endpoints in other VPCs, and without backends that a RouterLBRule may not have. */
export function reachedSlices(view: View, key: string): readonly EndpointSlice[] {
  const slices = slicesInVpc(view, key);
  const rule = ruleAt(view, key);
  if (rule?.kind !== 'RouterLBRule') return slices;
  const { leftOut = {} } = view.externalRules.get(ruleKey('routerLbRules', rule.name)) ?? {};
  return withoutAddresses(slices, Object.keys(leftOut));
}

function choiceOf(service: Service, { isInternal }: ServiceVip, all: readonly Backend[]): Choice {
  // If no endpoint serves, clients of all nodes are to be rejected at once.
  if (clusterBackends(all).length === 0) return 'all';
  if (isInternal && service.isInternalPolicyLocal) return 'local';
  return hasTopology(all) ? 'hints' : 'all';
}

function balancerOf(service: string, served: readonly ServedVip[]): Balancer | undefined {
  const [first] = served;
  if (first === undefined) return undefined;
  const { protocol, family } = first.vip;
  const isTemplate = served.some(({ choice }) => choice !== 'all');
  const vips: Record<string, string> = {};
  const variables = new Map<string, BalancerVariable>();
  for (const one of served) {
    const { vip, all, choice } = one;
    // In a row with variables, OVN splits lists at colons, which IPv6 addresses contain.
    const isLiteral = choice === 'all' && (!isTemplate || family === 4 || clusterBackends(all).length === 0);
    if (isLiteral) vips[vipText(vip, isTemplate)] = backendsText(clusterBackends(all));
    else {
      const name = variableName('be', service, vipId({ ...vip, address: '' }), String(family), choice);
      vips[vipText(vip, isTemplate)] = `^${name}`;
      variables.set(name, { name, valueAt: (place) => backendsText(chosen(choice, all, place)) });
    }
    if (!isTemplate || family === 4) continue;
    const name = variableName('vip', vip.address);
    variables.set(name, { name, valueAt: () => vip.address });
  }
  const localVips = served.flatMap(({ vip, choice }) => (choice === 'local' ? [vip] : []));
  return { protocol, family, vips, variables: [...variables.values()], localVips };
}

function chosen(choice: Choice, all: readonly Backend[], place: Place): readonly Backend[] {
  switch (choice) {
    case 'local':
      return localBackends(all, place.node);
    case 'hints':
      return backendsAt(all, place);
    case 'all':
      return clusterBackends(all);
  }
}

/** `default/web/tcp/ipv4`. */
export function balancerKey(service: Service, { protocol, family }: Pick<Balancer, 'protocol' | 'family'>): string {
  return `${serviceKey(service)}/${protocol}/ipv${family}`;
}

export function balancerRow(view: View, service: Service, balancer: Balancer): DesiredRow {
  const facts = {
    ...balancer,
    hasAffinity: service.affinitySeconds !== undefined,
    isTemplate: balancer.variables.length > 0,
  };
  return {
    table: 'Load_Balancer',
    key: balancerKey(service, balancer),
    columns: { ...balancerColumns(facts, view.capabilities.ipv6Selection), external_ids: vendorIds },
  };
}
