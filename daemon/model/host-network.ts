/** The host network that Isthmus wants on this node: links, addresses, routes, routing rules, the nftables table and sysctls. */
import type { Family } from '../../lib/net/ip.ts';

export interface HostLink {
  /** Open vSwitch makes the link; the daemon sets its properties. */
  readonly name: string;
  /** Undefined leaves the property as it is. */
  readonly mac: string | undefined;
  readonly mtu: number | undefined;
  /** `100.64.0.2/16`; any other address on the link is removed. */
  readonly addresses: readonly string[];
  /** A mirror is only captured from: it has no IPv6, and the rest of the network works without it. */
  readonly isMirror: boolean;
  /** Whether packets arrive from sources that the node itself would answer over another link. */
  readonly hasForeignSources: boolean;
  /** The ProviderNetwork whose bridge it is: the rest of the network works without it. */
  readonly network?: string;
}

/** A network on a link, such as `172.30.1.0/24`. */
export interface LinkNetwork {
  readonly link: string;
  readonly network: string;
}

export interface HostRoute {
  readonly destination: string;
  readonly gateway: string;
  readonly device: string;
  /** Source address of packets that the node sends itself. */
  readonly source: string | undefined;
  /** Undefined means the main table. */
  readonly table: number | undefined;
}

export interface HostRule {
  readonly priority: number;
  readonly family: Family;
  /** Source network of the packet; undefined matches any. */
  readonly source: string | undefined;
  /** Interface that the packet arrives on, `lo` for packets of the node itself; undefined matches any. */
  readonly device: string | undefined;
  /** Whether the rule is for the packets that do not match. */
  readonly isInverted: boolean;
  readonly action: 'lookup' | 'goto' | 'nop';
  /** The table to look up, or the priority of the rule to go to; 0 for `nop`. */
  readonly target: number;
  /** The subnet that asks for the rule; undefined for rules of the node. */
  readonly subnet: string | undefined;
}

/** The default route of a routing table that belongs to a subnet. */
export interface TableRoute {
  readonly table: number;
  readonly destination: string;
  readonly gateway: string;
  readonly subnet: string;
}

/** An element of a set of our nftables table. */
export interface HostElement {
  readonly set: string;
  /** In the form of `formatCidr`. Networks in a set may overlap. */
  readonly network: string;
}

/** What one owner wants of the kernel, such as one Subnet. */
export interface HostPart {
  readonly routes: readonly HostRoute[];
  readonly elements: readonly HostElement[];
}

/** What there is little of, whatever the number of Subnets: if any of it changes, all of the host network is compared with the kernel. */
export interface HostFrame {
  readonly links: readonly HostLink[];
  readonly tableRoutes: readonly TableRoute[];
  readonly rules: readonly HostRule[];
  /** Chains and sets of our nftables table without elements, in the language of nft. */
  readonly ruleset: string;
  /** Path below /proc/sys → value. */
  readonly sysctls: Readonly<Record<string, string>>;
}

export interface HostNetwork {
  readonly frame: HostFrame;
  /** By owner. An owner that has not changed has the same value as before, so that only the others are looked at. */
  readonly parts: ReadonlyMap<string, HostPart>;
}
