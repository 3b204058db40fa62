/** This cluster as the stages see it: immutable values, made again by `watch/` whenever a part changes. */
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Ip } from '../../lib/net/ip.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Gateway } from './messages.ts';

/** A local range that no remote prefix may equal or lie in. */
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

/** A transit switch that this cluster requests. */
export interface TransitRequest {
  readonly name: string;
  /** The VPC that takes part: the requested one, or the present one while that does not exist. */
  readonly vpc: string;
  /** The router of that VPC has this cluster's port already. */
  readonly isJoined: boolean;
  /** Why the requested VPC does not take part: it does not exist. */
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
  /** A user drains it: its paths move to other gateways. */
  readonly isDrained: boolean;
}

/** A chassis of this cluster as the southbound database has it. */
export interface LocalChassis {
  readonly gateway: Gateway;
  /** Whether its ovn-controller makes tunnels to other clusters. */
  readonly isInterconnect: boolean;
}

export interface LocalView {
  /** Its present name among the members. */
  readonly cluster: string;
  /** The name it joined with, which its ports keep. */
  readonly handle: string;
  /** VPCs that requests name and that exist, by name. */
  readonly vpcs: ReadonlyMap<string, LocalVpc>;
  readonly transitRequests: readonly TransitRequest[];
  readonly nodeAddresses: readonly { readonly node: string; readonly ip: Ip }[];
  /** The system-id of each node, as its daemon recorded it. */
  readonly nodeChassis: readonly { readonly node: string; readonly chassis: string }[];
  /** Selected nodes whose chassis is known by name, in the order of their names. */
  readonly gatewayNodes: readonly GatewayNode[];
  /** Selected nodes without a known chassis. */
  readonly unknownNodes: readonly string[];
  /** By chassis name; remote chassis are not among them. */
  readonly chassis: ReadonlyMap<string, LocalChassis>;
}

/** Whether other clusters can have tunnels to it. */
export function isUsable(local: LocalView, chassis: string): boolean {
  const known = local.chassis.get(chassis);
  return known?.isInterconnect === true && known.gateway.encaps.length > 0;
}
