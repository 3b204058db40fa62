/**
 * Plans the virtual addresses and NodePorts of a Service at this node, by the rules of kube-proxy. Pure.
 *
 * Clients in the cluster reach an external address like a ClusterIP, regardless of externalTrafficPolicy. Policy Local drops packets on a node without
 * a local endpoint, so that a client tries again and a load balancer may choose another node. Without any endpoint, packets are rejected.
 */
import { bitsOf, type Family, familyOf } from '../../../lib/net/ip.ts';
import { type Cidr, cidrCovers, compareCidrs, formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import {
  type Backend,
  backendsAt,
  backendsOf,
  clusterBackends,
  localBackends,
} from '../../../lib/services/backends.ts';
import { endpointsElsewhere } from '../../../lib/services/elsewhere.ts';
import {
  type EndpointSlice,
  servedExternalIps,
  type Service,
  type ServicePort,
  sourceRangesOf,
} from '../../../lib/services/service.ts';
import type { Right } from '../../settle/frontend-rights.ts';
import { anyAddress } from '../../model/service-table.ts';
import {
  type Frontend,
  type HealthCheck,
  protocolNumber,
  type ServedService,
  type ServiceNode,
} from '../../model/service.ts';

export interface ServiceInput {
  readonly service: Service;
  readonly slices: Iterable<EndpointSlice>;
  readonly node: ServiceNode;
  readonly hasExternalIps: boolean;
  /** Whether the Service has this key or address, and not an older Service. */
  readonly hasRight: (key: string) => boolean;
}

type Kind = 'cluster' | 'node' | 'loadBalancer' | 'external';

interface Address {
  readonly kind: Kind;
  readonly ip: string;
  readonly family: Family;
}

/** Keys and ClusterIPs that the Service asks for. */
export function rightsOf(service: Service, hasExternalIps: boolean): readonly Right[] {
  if (!service.isServed) return [];
  const own = service.clusterIps.map((key) => ({ key, isClusterIp: true }));
  if (!isReachable(service)) return own;
  const rights = new Map<string, Right>(own.map((right) => [right.key, right]));
  for (const port of service.ports)
    for (const address of addressesOf(service, port, hasExternalIps)) {
      const key = keyOf(address, port);
      if (!rights.has(key)) rights.set(key, { key, isClusterIp: address.kind === 'cluster' });
    }
  return [...rights.values()];
}

export function planService(input: ServiceInput): ServedService {
  const { service, hasExternalIps, hasRight } = input;
  if (!service.isServed) return { frontends: [], clusterIps: [], healthCheck: undefined };
  // Packets to its ClusterIPs are refused, as if it had no port.
  if (!isReachable(service))
    return { frontends: [], clusterIps: service.clusterIps.filter(hasRight), healthCheck: undefined };
  const slices = reachedOf(input);
  const frontends = new Map<string, Frontend>();
  const localAddresses = new Set<string>();
  for (const port of service.ports) {
    const byFamily = new Map<Family, readonly Backend[]>();
    for (const address of addressesOf(service, port, hasExternalIps)) {
      const key = keyOf(address, port);
      if (frontends.has(key) || !hasRight(key)) continue;
      const backends = byFamily.get(address.family) ?? backendsOf(slices, port, address.family);
      byFamily.set(address.family, backends);
      frontends.set(key, planFrontend(input, port, address, key, backends));
    }
    for (const backend of [...byFamily.values()].flat())
      if (backend.isReady && backend.node === input.node.node) localAddresses.add(backend.address);
  }
  return {
    frontends: [...frontends.values()],
    clusterIps: service.clusterIps.filter(hasRight),
    healthCheck: planHealthCheck(service, localAddresses.size),
  };
}

function isReachable(service: Service): boolean {
  return endpointsElsewhere(service) !== 'all';
}

/** Without endpoints in other VPCs. */
function reachedOf({ service, slices }: ServiceInput): readonly EndpointSlice[] {
  const elsewhere = endpointsElsewhere(service);
  if (elsewhere === 'all') return [];
  return [...slices].map((slice) =>
    slice.endpoints.some(({ address }) => elsewhere.has(address))
      ? { ...slice, endpoints: slice.endpoints.filter(({ address }) => !elsewhere.has(address)) }
      : slice,
  );
}

function planHealthCheck(service: Service, localEndpoints: number): HealthCheck | undefined {
  const { type, isExternalPolicyLocal, healthCheckNodePort: port, namespace, name, uid } = service;
  if (type !== 'LoadBalancer' || !isExternalPolicyLocal || port === 0) return undefined;
  return { port, namespace, name, uid, localEndpoints };
}

function planFrontend(
  { service, node }: ServiceInput,
  port: ServicePort,
  { kind, family }: Address,
  key: string,
  backends: readonly Backend[],
): Frontend {
  const isInternal = kind === 'cluster';
  const hasAny = clusterBackends(backends).length > 0;
  const isOfClientsNode = isInternal && service.isInternalPolicyLocal && hasAny;
  const onNode = (): readonly Backend[] => localBackends(backends, node.node);
  const all = isOfClientsNode ? onNode() : backendsAt(backends, node);
  const isLocal = !isInternal && service.isExternalPolicyLocal && hasAny;
  const local = isLocal ? onNode() : undefined;
  const isUnserved = all.length > 0 && !isLocal && !node.masqueraded.has(family);
  const ranges = kind === 'loadBalancer' ? sourceRangesOf(service, family) : undefined;
  return {
    key,
    family,
    isNodePort: kind === 'node',
    isUdp: port.protocol === 'UDP',
    all: slotsOf(all),
    // With an empty list of their own, external clients are not translated.
    local: local === undefined ? (isUnserved ? [] : undefined) : slotsOf(local),
    refusal: all.length > 0 ? undefined : hasAny ? 'drop' : 'reject',
    outsideRefusal: local?.length === 0 ? 'drop' : isUnserved ? 'reject' : undefined,
    isOfClientsNode,
    sourceRanges: ranges && disjoint(ranges, family),
    affinitySeconds: service.affinitySeconds,
  };
}

function slotsOf(backends: readonly Backend[]): readonly string[] {
  return backends.map(({ address, port }) => `${address} . ${port}`);
}

function addressesOf(service: Service, port: ServicePort, hasExternalIps: boolean): readonly Address[] {
  const families = new Set(service.clusterIps.map(familyOf));
  const of = (kind: Kind, ips: readonly string[]): readonly Address[] =>
    ips.map((ip) => ({ kind, ip, family: familyOf(ip) })).filter(({ family }) => families.has(family));
  const hasNodePort = port.nodePort !== 0 && (service.type === 'NodePort' || service.type === 'LoadBalancer');
  return [
    ...of('cluster', service.clusterIps),
    ...of('loadBalancer', service.loadBalancerIps),
    ...of('external', hasExternalIps ? servedExternalIps(service) : []),
    ...of('node', hasNodePort ? [anyAddress[4], anyAddress[6]] : []),
  ];
}

function keyOf({ kind, ip }: Address, { protocol, port, nodePort }: ServicePort): string {
  return `${ip} . ${protocolNumber[protocol]} . ${kind === 'node' ? nodePort : port}`;
}

/** CIDRs of the family, without those within another one, which nft refuses in one set. A single address has no prefix length, as in listings of nft. */
export function disjoint(networks: readonly string[], family: Family): readonly string[] {
  const cidrs = networks.flatMap((text) => {
    const cidr = parseCidr(text);
    return cidr?.family === family ? [cidr] : [];
  });
  const outermost: Cidr[] = [];
  for (const cidr of cidrs.sort(compareCidrs)) {
    const last = outermost.at(-1);
    if (last === undefined || !cidrCovers(last, cidr)) outermost.push(cidr);
  }
  return outermost.map((cidr) => formatCidr(cidr).replace(new RegExp(`/${bitsOf(family)}$`), '')).toSorted();
}
