/** This cluster as the plans see it: immutable values, made anew by `watch/` whenever a part changes. */
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Ip } from '../../lib/net/ip.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Gateway } from './messages.ts';

/** Something local that no remote prefix may equal or lie in. */
export interface LocalRange {
  /** For messages: `subnet ovn-default`. */
  readonly name: string;
  readonly cidr: Cidr;
}

/** A prefix of a VPC that other clusters may know of, before export policies. */
export interface LocalPrefix {
  readonly cidr: string;
  readonly origin: string;
  readonly tags: readonly string[];
}

/** A VPC that takes part in some transit switch. */
export interface LocalVpc {
  /** The logical router, which has the VPC's name. */
  readonly router: string;
  /** Its uuid; empty while it is not in the northbound database. */
  readonly routerId: string;
  readonly prefixes: readonly LocalPrefix[];
  readonly ranges: readonly LocalRange[];
  /** Networks of its peerings with other VPCs of this cluster. */
  readonly links: readonly LocalRange[];
}

/** A transit switch that this cluster wants to take part in. */
export interface TransitRequest {
  readonly name: string;
  /** The one that takes part: what is wanted, or, while that does not exist, what has taken part until now. */
  readonly vpc: string;
  /** The router of that VPC has this cluster's port already. */
  readonly isJoined: boolean;
  /** The VPC that is wanted does not exist. */
  readonly vpcProblem: Problem | undefined;
  /** Empty, 0, empty: as the hub has it. */
  readonly cidrs: readonly string[];
  readonly paths: number;
  readonly clusters: readonly string[];
  readonly problem: Problem | undefined;
}

/** A node that may carry traffic between clusters. */
export interface GatewayNode {
  readonly node: string;
  readonly chassis: string;
  /** Its paths are to go elsewhere. */
  readonly isDrained: boolean;
}

/** A chassis of this cluster as the southbound database has it. */
export interface LocalChassis {
  readonly gateway: Gateway;
  /** Whether its ovn-controller makes tunnels to other clusters. */
  readonly isInterconnect: boolean;
}

export interface LocalView {
  /** What it is called among the members. */
  readonly cluster: string;
  /** What it was called when it joined: its ports keep that name, whatever it is called since. */
  readonly handle: string;
  /** By name: those that transitRequests name and that exist. */
  readonly vpcs: ReadonlyMap<string, LocalVpc>;
  readonly transitRequests: readonly TransitRequest[];
  readonly nodeAddresses: readonly { readonly node: string; readonly ip: Ip }[];
  /** Of all nodes, as their daemons noted it: which system-id each has. */
  readonly nodeChassis: readonly { readonly node: string; readonly chassis: string }[];
  /** Selected nodes whose chassis is known by name, in the order of their names. */
  readonly gatewayNodes: readonly GatewayNode[];
  /** Selected nodes of which no chassis is known. */
  readonly unknownNodes: readonly string[];
  /** By chassis name; remote chassis are not among them. */
  readonly chassis: ReadonlyMap<string, LocalChassis>;
}

/** Whether other clusters can have tunnels to it. */
export function isUsable(local: LocalView, chassis: string): boolean {
  const known = local.chassis.get(chassis);
  return known?.isInterconnect === true && known.gateway.encaps.length > 0;
}
