/**
 * The load balancers of a Service: a row for each protocol and family, with all virtual addresses. Where clients of different nodes have
 * different backends, the backends are a variable, whose value each node's chassis has (`variables.ts`).
 */
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Family } from '../../../lib/net/ip.ts';
import {
  type Backend,
  backendKey,
  backendsAt,
  backendsOf,
  clusterBackends,
  hasTopology,
  localBackends,
  type Place,
} from '../../../lib/services/backends.ts';
import { type EndpointSlice, type Service, serviceKey } from '../../../lib/services/service.ts';
import { variableName } from '../../../lib/services/variables.ts';
import { hairpinSources, type ServiceVip, vipId, vipsOf, vipText } from '../../model/service-vips.ts';
import type { View } from '../../model/view.ts';
import { slicesOf } from '../../settle/service/frontends.ts';
import { vendorIds } from '../names.ts';

/** `local`: those of the client's node; `hints`: those whose hints are for the client's place; `all`: the same for all clients. */
type Choice = 'local' | 'hints' | 'all';

/** A variable of a load balancer, and its value for clients at a place; empty where it has none. */
export interface BalancerVariable {
  readonly name: string;
  readonly valueAt: (place: Place) => string;
}

/** The load balancer of one protocol and family. */
export interface Balancer {
  readonly protocol: ServiceVip['protocol'];
  readonly family: Family;
  /** Virtual address → backends, as OVN writes them. No backends mean that connections are rejected. */
  readonly vips: Readonly<Record<string, string>>;
  readonly variables: readonly BalancerVariable[];
  /** Virtual addresses that have no endpoint on some nodes. */
  readonly localVips: readonly ServiceVip[];
}

/** A virtual address with all endpoints of its port. */
interface ServedVip {
  readonly vip: ServiceVip;
  readonly all: readonly Backend[];
  readonly choice: Choice;
}

/** The load balancers of a Service, without the virtual addresses that another Service has. */
export function balancersOf(view: View, service: Service): readonly Balancer[] {
  const key = serviceKey(service);
  const { lost = {} } = view.serviceVerdicts.get(key) ?? {};
  const reached = reachedSlices(view, key);
  const groups = new Map<string, ServedVip[]>();
  for (const vip of vipsOf(service, view.capabilities)) {
    if (lost[vipId(vip)] !== undefined) continue;
    const all = backendsOf(reached, vip.port, vip.family);
    const group = `${vip.protocol}/${vip.family}`;
    groups.set(group, [...(groups.get(group) ?? []), { vip, all, choice: choiceOf(service, vip, all) }]);
  }
  return [...groups.values()].flatMap((served) => balancerOf(key, served) ?? []);
}

/** The EndpointSlices of a Service or rule, without endpoints in other VPCs. */
export function reachedSlices(view: View, key: string): readonly EndpointSlice[] {
  const { strangers = [] } = view.serviceVerdicts.get(key) ?? {};
  const slices = slicesOf(view, key);
  return strangers.length === 0 ? slices : slices.map((slice) => without(slice, new Set(strangers)));
}

function without(slice: EndpointSlice, addresses: ReadonlySet<string>): EndpointSlice {
  return { ...slice, endpoints: slice.endpoints.filter(({ address }) => !addresses.has(address)) };
}

function choiceOf(service: Service, { isInternal }: ServiceVip, all: readonly Backend[]): Choice {
  // Without any endpoint, clients of all nodes are to be rejected at once.
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
    const variable: BalancerVariable = {
      name: variableName('be', service, vipId({ ...vip, address: '' }), String(family), choice),
      valueAt: (place) => textOf(chosen(choice, all, place)),
    };
    // In a row with variables OVN splits lists at colons, of which IPv6 addresses are full.
    const isLiteral = choice === 'all' && (!isTemplate || family === 4 || clusterBackends(all).length === 0);
    vips[vipText(vip, isTemplate)] = isLiteral ? textOf(clusterBackends(all)) : `^${variable.name}`;
    if (!isLiteral) variables.set(variable.name, variable);
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

function textOf(backends: readonly Backend[]): string {
  return backends.map(({ address, port }) => backendKey(address, port)).join(',');
}

/** `default/web/tcp/ipv4`. */
export function balancerKey(service: Service, { protocol, family }: Pick<Balancer, 'protocol' | 'family'>): string {
  return `${serviceKey(service)}/${protocol}/ipv${family}`;
}

export function balancerRow(view: View, service: Service, balancer: Balancer): DesiredRow {
  const { protocol, family, vips, variables } = balancer;
  const template = variables.length > 0 ? { template: 'true', 'address-family': `ipv${family}` } : {};
  return {
    table: 'Load_Balancer',
    key: balancerKey(service, balancer),
    columns: {
      protocol,
      vips,
      selection_fields: service.affinitySeconds === undefined ? [] : clientFields(view, family),
      options: {
        reject: 'true',
        hairpin_snat_ip: hairpinSources.join(' '),
        // Datagrams of a connection would go on to a backend that is gone. Connections of TCP end by themselves, and those of a
        // terminating endpoint go on.
        ...(protocol === 'udp' ? { ct_flush: 'true' } : {}),
        ...template,
      },
      external_ids: vendorIds,
    },
  };
}

/** What tells clients apart. Where OVN cannot tell IPv6 addresses apart, MAC addresses do: clients are in the switch of the load balancer. */
function clientFields({ capabilities }: View, family: Family): readonly string[] {
  if (family === 4) return ['ip_src'];
  return [capabilities.ipv6Selection ? 'ipv6_src' : 'eth_src'];
}
