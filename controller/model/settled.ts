/** Results of `settle/` that `plan/` reads: which objects are in force, and everything that depends on which of them came first. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Family } from '../../lib/net/ip.ts';
import type { Range } from '../../lib/net/range.ts';
import type { Ingress } from '../../lib/services/service.ts';
import type { NetInForce } from './net-in-force.ts';

/** The corrected spec, with all defaults. */
export interface SpecDefaults {
  readonly default: boolean;
  readonly vpc: string;
  readonly provider: string;
  readonly protocol: 'IPv4' | 'IPv6' | 'Dual';
  readonly cidrBlock: string;
  readonly gateway: string;
  readonly excludeIps: readonly string[];
  readonly gatewayType: string;
  /** Absent if switches have load balancers only if their Subnet enables them. */
  readonly enableLb?: boolean;
}

export interface Verdict {
  /** The VPC the subnet is in, whether its spec was accepted or not. */
  readonly vpc: string;
  /** The network in force; rows exist for it. */
  readonly net: NetInForce | undefined;
  /** The uid of the Subnet that the network was accepted for. */
  readonly of: string;
  /** The spec with defaults, where it was accepted. */
  readonly spec: SpecDefaults | undefined;
  /** Whether new addresses are allocated. */
  readonly isOpen: boolean;
  /** Why the current spec was refused. */
  readonly problem: Problem | undefined;
}

export interface Link {
  /** The other VPC. */
  readonly remote: string;
  readonly cidr: Cidr;
}

export interface PoolVerdict {
  /** The addresses that the pool reserves; empty if it was refused. */
  readonly ranges: readonly Range[];
  readonly problem: Problem | undefined;
}

export interface LoadBalancerPoolVerdict {
  /** The addresses that Services may get; empty if the pool is refused. */
  readonly ranges: readonly Range[];
  /** Address of the pool → the object that has taken it since the pool is in force. No Service gets such an address any more. */
  readonly withheld: readonly { readonly range: Range; readonly owner: string }[];
  readonly problem: Problem | undefined;
  /** The object whose addresses are the problem, if there is one. */
  readonly opponent?: string;
}

/** The addresses of a Service of type LoadBalancer. */
export interface LoadBalancer {
  /** `status.loadBalancer.ingress`. */
  readonly ingress: readonly Ingress[];
  /** Whether it has all requested addresses, with a reason; undefined for a Service to which Isthmus allocates no addresses any more. */
  readonly ready: (Problem & { readonly isTrue: boolean }) | undefined;
}

/** Counts of the addresses of a LoadBalancerPool. */
export interface LoadBalancerUsage {
  readonly total: bigint;
  readonly available: bigint;
  readonly used: bigint;
}

export interface VlanVerdict {
  readonly provider: string;
  readonly id: number;
  /** Nodes route to its ProviderNetwork themselves. */
  readonly isByNodes: boolean;
  /** Another Vlan has the same id in the same ProviderNetwork. */
  readonly isConflict: boolean;
  /** Why it accepts no further subnets, as a clause about it. Its existing subnets stay. */
  readonly closing: Problem | undefined;
  readonly problem: Problem | undefined;
}

export interface Binding {
  /** The VPC for which a Vpc or Subnet requests the namespace; undefined if none does. */
  readonly vpc: string | undefined;
  /** In the order of use. Empty for namespaces of a VPC without subnets: their pods must not be created in another VPC. */
  readonly subnets: readonly string[];
  /** Subnets of other VPCs that request the namespace in vain. */
  readonly others: readonly string[];
}

/** A gateway node, with its join addresses. */
export interface GatewayHop {
  readonly node: string;
  readonly v4?: string;
  readonly v6?: string;
}

/** The nodes that a centralized gateway uses now. */
export interface GatewayChoice {
  /** In the order of the candidates; more than one only with enableEcmp. */
  readonly hops: readonly GatewayHop[];
  readonly problems: readonly Problem[];
}

/** A node that learned a prefix, with its join address. */
export interface LearnedHop {
  readonly node: string;
  readonly address: string;
}

export interface LearnedRoute {
  /** By name of the node; several share the load. */
  readonly hops: readonly LearnedHop[];
  /** Route tables that have the route. A route of the user for the prefix excludes it from that table. */
  readonly tables: readonly string[];
  /** Why the route is left out. */
  readonly problem?: Problem;
}

/** A port at which a backend is, with the address of the backend. */
export interface CheckedPort {
  readonly port: string;
  readonly subnet: string;
  /** `namespace/name`. */
  readonly pod: string;
}

/** The decisions about a Service or a SwitchLBRule that depend on other objects. */
export interface ServiceVerdict {
  /** The VPC whose pods reach it. */
  readonly vpc: string;
  /** Whether that VPC has a router. */
  readonly hasVpc: boolean;
  /** The VPCs of its endpoints' pods, in the order of the endpoints' addresses. */
  readonly endpointVpcs: readonly string[];
  /** Addresses of endpoints in other VPCs. Pods of this VPC do not reach them, and may know another pod by the same address. */
  readonly foreignEndpoints: readonly string[];
  /** Virtual addresses that it wants and another Service or rule of the VPC has: `vipId` → the name of that object, for messages. */
  readonly takenVips: Readonly<Record<string, string>>;
  /** Why nothing of a SwitchLBRule is served: its virtual address is not free. */
  readonly refusal?: Problem;
  /** Backends of a SwitchLBRule that OVN checks, by address. */
  readonly checked?: Readonly<Record<string, CheckedPort>>;
}

/** The OVN names of a security group that has rows. */
export interface ServedGroup {
  readonly portGroup: string;
  readonly memberSets: { readonly v4: string; readonly v6: string };
  /** The entry in external_ids of its members' ports. */
  readonly memberId: string;
}

/** A node that may hold the port of a router. */
export interface GatewayNode {
  readonly node: string;
  readonly chassis: string;
}

/** Which chassis has the port of a router, as the southbound database says. */
export interface GatewayHolder {
  readonly chassis: string;
  /** When this room first saw it there, as RFC 3339 in seconds. */
  readonly since: string;
}

/** What the controller takes the BFD session with a router outside for: it follows the session with a delay. `silent` before the first answer. */
export type UpstreamState = 'silent' | 'up' | 'down';

/** The router outside of a port in one family, with which OVN has a BFD session. */
export interface Upstream {
  readonly family: Family;
  readonly address: string;
  readonly state: UpstreamState;
}

/** The port of a VPC's router in a Subnet outside. */
export interface GatewayPort {
  readonly vpc: string;
  readonly subnet: string;
  /** The nodes that may hold it, the first one first. */
  readonly nodes: readonly GatewayNode[];
  /** Whether the router has an address there, whether there is a node for the port or not. */
  readonly isPlaced: boolean;
  /** The families of the VPC's packets without another route that leave by this port. */
  readonly exitOf: readonly Family[];
  /** The families of such packets that leave by this port once OVN finds the router of the other one dead. */
  readonly reserveOf: readonly Family[];
  /** The routers with which there are BFD sessions; empty unless the Vpc requests them. */
  readonly upstreams: readonly Upstream[];
  /** Addresses of VpcNatGateways: a route of the Vpc with such a next hop leads to this port. */
  readonly lanIps: readonly string[];
  /** Whether all packets of the VPC to networks outside leave by this port. */
  readonly isOnlyExit: boolean;
  /** Networks of which that is not so: they have a route table of their own, in which the user has a default route. */
  readonly detours: readonly string[];
  /** Why there is no port. */
  readonly problem?: Problem;
}

/** The two sides of a rule in one family. The inside is a CIDR for an OvnSnatRule. */
export interface ExternalPair {
  readonly family: Family;
  readonly outside: string;
  readonly inside: string;
  /** The network outside, and its gateway, to which policies lead packets from the inside; absent where they leave by it anyway. */
  readonly wayOut?: { readonly network: string; readonly gateway: string };
}

/** The decisions about a rule that uses an address outside. Rows exist if there is neither a refusal nor an obstacle. */
export interface ExternalRule {
  /** The `id` of the address outside. */
  readonly eip: string;
  /** Empty while the address inside is not known. */
  readonly vpc: string;
  /** The Subnet outside; empty while the OvnEip has no address. */
  readonly subnet: string;
  readonly pairs: readonly ExternalPair[];
  /** Of a distributed OvnFip: the port that has the address inside, and the MAC address that answers for the one outside. */
  readonly local?: { readonly port: string; readonly mac: string };
  /** Of a RouterLBRule: its addresses outside that are served. Its pairs are those of its backends. */
  readonly outside?: readonly string[];
  /** Of a RouterLBRule: backends that get no connections, by address, with the reason. */
  readonly leftOut?: Readonly<Record<string, string>>;
  /** Why the spec is refused. */
  readonly refusal?: Problem;
  /** What it waits for. */
  readonly obstacle?: Problem;
}
