/** Subnets, as far as a node needs them. */
import type { Underlay } from '../../lib/api/in-force.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';

/** A VLAN of a provider network; VLAN 0 means untagged packets. */
export interface UnderlayPlace {
  readonly provider: string;
  readonly vlan: number;
  readonly routing?: Underlay['routing'];
}

export interface Subnet {
  readonly name: string;
  readonly uid: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly networks: readonly string[];
  /** Whether the node reaches the subnet through ovn0: true for subnets of the default VPC whose gateway is OVN. Others may overlap with anything. */
  readonly isRouted: boolean;
  /** Whether its packets go through tunnels. */
  readonly isOverlay: boolean;
  /** The ProviderNetwork and VLAN of an underlay subnet; undefined for overlay subnets. */
  readonly underlay: UnderlayPlace | undefined;
  readonly mtu: number | undefined;
  /** Addresses of the subnet's router. */
  readonly gateways: readonly string[];
  /** Whether its pods accept router advertisements of that router. */
  readonly hasRouterAdvertisements: boolean;
  /** Namespaces whose pods may act as routers and DHCP servers in the subnet; `*` for all. */
  readonly routerNamespaces: readonly string[];
  readonly isNatOutgoing: boolean;
  /** The first rule that matches decides; if none matches, `isNatOutgoing` does. */
  readonly natRules: readonly NatRule[];
  /** Undefined for a distributed gateway: each node is the gateway of its own pods. */
  readonly gateway: CentralGateway | undefined;
  /** Next hop of traffic that leaves the cluster, in place of the node's own routes. */
  readonly egress: EgressGateway | undefined;
  /** Fields that make no sense and are ignored. */
  readonly problems: readonly Problem[];
}

export interface NatRule {
  /** Networks; empty matches any. */
  readonly sources: readonly string[];
  readonly destinations: readonly string[];
  readonly action: 'nat' | 'forward';
}

export interface CentralGateway {
  /** Node → the addresses of that node to translate to, in place of the address of the outgoing interface. */
  readonly nodes: ReadonlyMap<string, readonly string[]>;
  readonly selectors: readonly LabelSelector[];
}

export interface EgressGateway {
  /** At most one per family. */
  readonly nextHops: readonly string[];
  readonly priority: number;
  readonly table: number;
  /** Rank among subnets that use the same table, as the controller decided it: the lowest wins. */
  readonly right: number;
}
