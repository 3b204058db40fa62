/** What `settle/` decides and `plan/` reads: which objects are in force, and what depends on which of them came first. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Range } from '../../lib/net/range.ts';
import type { NetInForce } from './net-in-force.ts';

/** The spec as it should read, with every default in place. */
export interface SpecDefaults {
  readonly default: boolean;
  readonly vpc: string;
  readonly provider: string;
  readonly protocol: 'IPv4' | 'IPv6' | 'Dual';
  readonly cidrBlock: string;
  readonly gateway: string;
  readonly excludeIps: readonly string[];
  readonly gatewayType: string;
  /** Absent where switches have load balancers only if their Subnet says so. */
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
  /** Whether new addresses are given. */
  readonly isOpen: boolean;
  /** Why the spec as it is was not accepted. */
  readonly problem: Problem | undefined;
}

export interface Link {
  /** The other VPC. */
  readonly remote: string;
  readonly cidr: Cidr;
}

export interface PoolVerdict {
  /** What the pool sets aside; empty where it was refused. */
  readonly ranges: readonly Range[];
  readonly problem: Problem | undefined;
}

export interface VlanVerdict {
  readonly provider: string;
  readonly id: number;
  /** Another one has the same id in the same network. */
  readonly isConflict: boolean;
  /** Why it takes no further subnets, as a clause about it; those that are in it stay. */
  readonly closing: Problem | undefined;
  readonly problem: Problem | undefined;
}

export interface Binding {
  /** The VPC that somebody asks for the namespace for; undefined where nobody does. */
  readonly vpc: string | undefined;
  /** In the order they are used. Empty for namespaces of a VPC without subnets: their pods must not turn up in another VPC. */
  readonly subnets: readonly string[];
  /** Subnets of other VPCs that ask for the namespace and do not get it. */
  readonly others: readonly string[];
}

/** A node that traffic is sent to, by its addresses in the join subnet. */
export interface GatewayHop {
  readonly node: string;
  readonly v4?: string;
  readonly v6?: string;
}

/** The nodes that a centralized gateway leads through now. */
export interface GatewayChoice {
  /** In the order of the candidates; more than one only with enableEcmp. */
  readonly hops: readonly GatewayHop[];
  readonly problems: readonly Problem[];
}

/** A node that learned a prefix, by its address in the join subnet. */
export interface LearnedHop {
  readonly node: string;
  readonly address: string;
}

export interface LearnedRoute {
  /** By name of the node; several share the load. */
  readonly hops: readonly LearnedHop[];
  /** Tables of the router that have the route; the user's own route stays alone in its table. */
  readonly tables: readonly string[];
  /** Why it is left out. */
  readonly problem?: Problem;
}

/** What a security group that has rows is called in OVN. */
export interface ServedGroup {
  readonly portGroup: string;
  readonly memberSets: { readonly v4: string; readonly v6: string };
  /** The entry in external_ids of its members' ports. */
  readonly memberId: string;
}
