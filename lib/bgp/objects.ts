// The objects of a cluster that BGP depends on: values parsed by parse/, by key. The speaker keeps them by watches, the CLI reads them
// once; both use the functions of this folder to compute what a node announces. Addresses and prefixes are canonical text, so that
// equal values are equal strings.
import type { BgpAdvertisementSpec, bgpSources } from '../api/kinds/bgp-advertisement.ts';
import type { BgpInstanceSpec } from '../api/kinds/bgp-instance.ts';
import type { BgpPeerSpec } from '../api/kinds/bgp-peer.ts';
import type { Condition } from '../api/kinds/shared.ts';
import type { Problem } from '../desired/problem.ts';
import type { RoutePolicy } from '../route-policy/policy.ts';
import type { OfferedPrefix } from './lifelines.ts';

export type Labels = Readonly<Record<string, string>>;

/** A kind of object that may offer prefixes. */
export type Source = (typeof bgpSources)[number];

/** An object that may offer prefixes: `Pod`, `default/web`. */
export interface ObjectRef {
  readonly source: Source;
  readonly key: string;
}

export interface Node {
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  /** The node's InternalIPs. */
  readonly addresses: readonly string[];
  readonly isCordoned: boolean;
  /** Announces nothing, because of the annotation `isthmus.network/bgp-drain`. */
  readonly isDrained: boolean;
  /** Neither the node nor its speaker reports to Kubernetes any more. */
  readonly isSilent: boolean;
}

/** Common fields of Isthmus' own kinds; an unusable spec is a problem. */
interface BgpObject<Spec, Status> {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** RFC 3339, orders objects by age. */
  readonly createdAt: string;
  readonly labels: Labels;
  readonly spec: { readonly value: Spec } | { readonly problem: Problem };
  readonly status: Status;
}

export interface NodeSession {
  readonly node: string;
  readonly state: string;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  readonly advertised?: number;
}

export interface NodeInstance {
  readonly node: string;
  readonly ready: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly routerID?: string;
  readonly daemonVersion?: string;
}

export interface NotAnnounced {
  readonly object: string;
  readonly reason: string;
  readonly message: string;
}

export interface AdvertisementSummary {
  readonly objects: number;
  readonly prefixCount: number;
  readonly prefixes: readonly string[];
  readonly notAnnounced: readonly NotAnnounced[];
}

export type BgpInstance = BgpObject<
  BgpInstanceSpec,
  { readonly nodes: readonly NodeInstance[]; readonly conditions: readonly Condition[] }
>;
export type BgpPeer = BgpObject<
  BgpPeerSpec,
  { readonly nodes: readonly NodeSession[]; readonly conditions: readonly Condition[]; readonly established: string }
>;
export type BgpAdvertisement = BgpObject<
  BgpAdvertisementSpec,
  Partial<AdvertisementSummary> & { readonly conditions: readonly Condition[] }
>;

/** The value of the annotation `ovn.kubernetes.io/bgp` of an object; any other text is `invalid`. */
export type BgpAnnotation =
  | { readonly scope: 'cluster' | 'local' | 'none' }
  | { readonly scope: 'invalid'; readonly text: string }
  | undefined;

export interface Subnet {
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  readonly vpc: string;
  /** Prefixes of the networks in force; empty if the controller accepted none. */
  readonly prefixes: readonly string[];
  /** The subnet is a VLAN of the physical network, whose own routers have routes to it. */
  readonly isPhysical?: boolean;
  /** Of those, one that no wire leads to: nodes route to it themselves. */
  readonly isByNodes?: boolean;
  readonly annotation: BgpAnnotation;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  /** Empty until it is scheduled. */
  readonly node: string;
  /** Neither finished nor failed. */
  readonly isAlive: boolean;
  /** Its condition Ready is not False. */
  readonly isReady: boolean;
  /** Addresses in subnets, of all its interfaces. */
  readonly addresses: readonly { readonly ip: string; readonly subnet: string }[];
  readonly annotation: BgpAnnotation;
}

export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  readonly type: string;
  readonly clusterIps: readonly string[];
  readonly externalIps: readonly string[];
  readonly loadBalancerIps: readonly string[];
  /** Those of these addresses that Isthmus allocated. They belong to the cluster, even if their pool was deleted. */
  readonly givenIps: readonly string[];
  readonly isExternalPolicyLocal: boolean;
  readonly isInternalPolicyLocal: boolean;
  /** It is in another VPC than the default one, and nodes do not reach its endpoints. */
  readonly isElsewhere: boolean;
  readonly annotation: BgpAnnotation;
}

/** The endpoints of one EndpointSlice. */
export interface EndpointSlice {
  /** `namespace/name` of the service; empty if it has none. */
  readonly service: string;
  readonly endpoints: readonly Endpoint[];
  /** Addresses of the API server; only in its own slices. */
  readonly apiServers?: readonly string[];
}

export interface Endpoint {
  /** Empty if unknown. */
  readonly node: string;
  readonly isReady: boolean;
  /** The endpoint still serves while it terminates. */
  readonly isServing: boolean;
}

export interface Eip {
  readonly kind: 'OvnEip' | 'IptablesEIP';
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  readonly isReady: boolean;
  readonly ips: readonly string[];
  /** Name of the OvnEip of the router port that translates it; empty while no rule of it is in force. */
  readonly gatewayPort: string;
  /** Of an OvnEip with the address of a router. */
  readonly routerPort?: RouterPort;
  readonly annotation: BgpAnnotation;
}

/** The port of a router in a Subnet outside. */
export interface RouterPort {
  readonly subnet: string;
  /** Nodes that may have it, in the order of their turn. */
  readonly nodes: readonly string[];
  /** The node that has it; empty while none does. */
  readonly holder: string;
}

/** Another cluster with its prefixes that are in use here. */
export interface Remote {
  readonly name: string;
  readonly labels: Labels;
  readonly routes: readonly { readonly prefix: string; readonly origin: string; readonly tags: readonly string[] }[];
  /** Its own prefixes, without those of its routers, whether they have a path now or not. */
  readonly owned?: readonly OfferedPrefix[];
  /** Tunnel addresses. */
  readonly gateways?: readonly string[];
}

/** The neighbour at the other end of a link of the node. */
export interface LinkNeighbor {
  /** Link-local, with the link: `fe80::1%eth1`. Undefined: no neighbour is known. */
  readonly address: string | undefined;
  /** The node's own address on the link, in the same form. */
  readonly ownAddress: string | undefined;
  /** Why no neighbour is known, or the problem of the known neighbour. */
  readonly problem: Problem | undefined;
}

/** Everything that the routes of a node depend on. */
export interface BgpState {
  /** The node whose routes are computed. */
  readonly node: string;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly namespaces: ReadonlyMap<string, Labels>;
  readonly instances: ReadonlyMap<string, BgpInstance>;
  readonly peers: ReadonlyMap<string, BgpPeer>;
  readonly advertisements: ReadonlyMap<string, BgpAdvertisement>;
  readonly subnets: ReadonlyMap<string, Subnet>;
  /** Networks of the LoadBalancerPools in force, by name of the pool. */
  readonly loadBalancerPools: ReadonlyMap<string, readonly string[]>;
  readonly pods: ReadonlyMap<string, Pod>;
  readonly services: ReadonlyMap<string, Service>;
  /** By service, then by name of the slice. */
  readonly slices: ReadonlyMap<string, ReadonlyMap<string, EndpointSlice>>;
  /** By `kind/name`. */
  readonly eips: ReadonlyMap<string, Eip>;
  readonly remotes: ReadonlyMap<string, Remote>;
  /** By link, for the links that BgpPeers name; without links that the node does not have. */
  readonly neighbors: ReadonlyMap<string, LinkNeighbor>;
  /** Addresses of the node, read from its kernel; undefined: not read. */
  readonly ownAddresses?: ReadonlySet<string>;
  /** The switch of the node does not run: it can have no router port, and its kernel reaches no network by the switch. Undefined: not known. */
  readonly isSwitchDown?: boolean;
  /** All policies, also those without BGP. */
  readonly policies: ReadonlyMap<string, RoutePolicy>;
}
