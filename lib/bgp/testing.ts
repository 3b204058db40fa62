import { bgpAdvertisementSpec } from '../api/kinds/bgp-advertisement.ts';
import { bgpInstanceSpec } from '../api/kinds/bgp-instance.ts';
import { bgpPeerSpec } from '../api/kinds/bgp-peer.ts';
import { parseRoutePolicy } from '../route-policy/parse.ts';
import type { RoutePolicy } from '../route-policy/policy.ts';
import type {
  BgpAdvertisement,
  BgpInstance,
  BgpPeer,
  BgpState,
  Eip,
  Endpoint,
  Labels,
  LinkNeighbor,
  Node,
  Pod,
  Remote,
  Service,
  Subnet,
} from './objects.ts';

/** Objects for tests: fields that are not given have the defaults of the schema. */

const head = (name: string, createdAt: string, labels: Labels = {}) => ({
  name,
  uid: `uid-${name}`,
  generation: 1,
  createdAt,
  labels,
});

export function nodeOf(
  name: string,
  addresses: readonly string[],
  labels: Labels = { 'ovn.kubernetes.io/bgp': 'true' },
): Node {
  return { name, uid: `uid-${name}`, labels, addresses, isCordoned: false, isDrained: false, isSilent: false };
}

export function instanceOf(name: string, spec: object = {}, createdAt = '2024-01-01T00:00:00Z'): BgpInstance {
  return {
    ...head(name, createdAt),
    spec: { value: bgpInstanceSpec.parse({ localASN: 65001, ...spec }) },
    status: { nodes: [], conditions: [] },
  };
}

/** @param address undefined: the spec names an interface */
export function peerOf(
  name: string,
  address: string | undefined,
  spec: object = {},
  createdAt = '2024-01-01T00:00:00Z',
): BgpPeer {
  const value = bgpPeerSpec.parse({ instance: 'rack', address, asn: 65000, ...spec });
  return { ...head(name, createdAt), spec: { value }, status: { nodes: [], conditions: [], established: '' } };
}

/** @param spec without a source it is Subnet */
export function advertisementOf(name: string, spec: object = {}, labels: Labels = {}): BgpAdvertisement {
  const value = bgpAdvertisementSpec.parse({ source: 'Subnet', ...spec });
  return { ...head(name, '2024-01-01T00:00:00Z', labels), spec: { value }, status: { conditions: [] } };
}

export function subnetOf(name: string, prefixes: readonly string[], more: Partial<Subnet> = {}): Subnet {
  return { name, uid: `uid-${name}`, prefixes, labels: {}, vpc: 'ovn-cluster', annotation: undefined, ...more };
}

/** A ready pod of subnet `web` on node `n1` in namespace `default`. */
export function podOf(name: string, ips: readonly string[], more: Partial<Pod> = {}): Pod {
  return {
    namespace: 'default',
    name,
    uid: `uid-${name}`,
    labels: {},
    node: 'n1',
    isAlive: true,
    isReady: true,
    addresses: ips.map((ip) => ({ ip, subnet: 'web' })),
    annotation: undefined,
    ...more,
  };
}

export function serviceOf(name: string, more: Partial<Service> = {}): Service {
  return {
    namespace: 'default',
    name,
    uid: `uid-${name}`,
    labels: {},
    type: 'LoadBalancer',
    clusterIps: [],
    externalIps: [],
    loadBalancerIps: [],
    givenIps: [],
    isExternalPolicyLocal: false,
    isInternalPolicyLocal: false,
    isElsewhere: false,
    annotation: undefined,
    ...more,
  };
}

/** A ready OvnEip that port `blue-external` translates. */
export function eipOf(name: string, ips: readonly string[], more: Partial<Eip> = {}): Eip {
  const head = { kind: 'OvnEip', name, uid: `uid-${name}`, labels: {}, isReady: true, annotation: undefined } as const;
  return { ...head, ips, gatewayPort: 'blue-external', ...more };
}

/** The router port `blue-external` with the addresses .100 in Subnet `external`; the first node has it. */
export function routerPortOf(...nodes: readonly string[]): Eip {
  const routerPort = { subnet: 'external', nodes, holder: nodes[0] ?? '' };
  return eipOf('blue-external', ['203.0.113.100', '2001:db8:113::100'], { gatewayPort: '', routerPort });
}

/** The Subnet outside of the ports. */
export const outside: Subnet = subnetOf('external', ['203.0.113.0/24', '2001:db8:113::/64'], { isPhysical: true });

/** Ready endpoints on nodes. */
export function readyOn(...nodes: readonly string[]): readonly Endpoint[] {
  return nodes.map((node) => ({ node, isReady: true, isServing: true }));
}

export function policyOf(name: string, spec: object): RoutePolicy {
  return parseRoutePolicy({ metadata: { name, uid: `uid-${name}`, resourceVersion: '1', generation: 1 }, spec });
}

export interface TestObjects {
  readonly nodes?: readonly Node[];
  readonly namespaces?: Readonly<Record<string, Labels>>;
  readonly instances?: readonly BgpInstance[];
  readonly peers?: readonly BgpPeer[];
  readonly advertisements?: readonly BgpAdvertisement[];
  readonly subnets?: readonly Subnet[];
  /** Networks by name of the pool. */
  readonly loadBalancerPools?: Readonly<Record<string, readonly string[]>>;
  readonly pods?: readonly Pod[];
  readonly services?: readonly Service[];
  /** By `namespace/name` of the service. */
  readonly endpoints?: Readonly<Record<string, readonly Endpoint[]>>;
  readonly eips?: readonly Eip[];
  readonly remotes?: readonly Remote[];
  readonly policies?: readonly RoutePolicy[];
  readonly neighbors?: Readonly<Record<string, LinkNeighbor>>;
  readonly ownAddresses?: readonly string[];
}

/** The state of node `n1` from any mix of objects. */
export function stateOf(objects: TestObjects): BgpState {
  const byName = <T extends { readonly name: string; readonly namespace?: string }>(values: readonly T[] = []) =>
    new Map(
      values.map((value) => [value.namespace === undefined ? value.name : `${value.namespace}/${value.name}`, value]),
    );
  const slices = Object.entries(objects.endpoints ?? {}).map(
    ([service, endpoints]) => [service, new Map([['slice', { service, endpoints }]])] as const,
  );
  return {
    node: 'n1',
    nodes: byName(objects.nodes ?? [nodeOf('n1', ['10.0.0.1', 'fd00::1'])]),
    namespaces: new Map(Object.entries(objects.namespaces ?? {})),
    instances: byName(objects.instances ?? [instanceOf('rack')]),
    peers: byName(objects.peers),
    advertisements: byName(objects.advertisements ?? [advertisementOf('all')]),
    subnets: byName(objects.subnets),
    loadBalancerPools: new Map(Object.entries(objects.loadBalancerPools ?? {})),
    pods: byName(objects.pods),
    services: byName(objects.services),
    slices: new Map(slices),
    eips: new Map((objects.eips ?? []).map((eip) => [`${eip.kind}/${eip.name}`, eip])),
    remotes: byName(objects.remotes),
    policies: byName(objects.policies),
    neighbors: new Map(Object.entries(objects.neighbors ?? {})),
    ...(objects.ownAddresses && { ownAddresses: new Set(objects.ownAddresses) }),
  };
}
