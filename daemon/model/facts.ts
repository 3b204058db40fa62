/**
 * What the daemon knows, as immutable values: made by watch/ from Kubernetes objects and by plan/sandbox.ts from the
 * local OVS database; read by plan/ and cni/. Addresses in here are checked, whatever a user wrote.
 */
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { PodCondition } from '../../lib/api/pod-addresses.ts';
import type { Problem } from '../../lib/desired/problem.ts';

export interface InterfaceAddress {
  readonly ip: string;
  /** Length of the subnet's prefix. */
  readonly prefix: number;
  /** Absent on networks without one. */
  readonly gateway: string | undefined;
}

/** An interface the controller gave addresses to. */
export interface Attachable {
  readonly mac: string;
  /** At most one per family, IPv4 first. */
  readonly addresses: readonly InterfaceAddress[];
  /** The subnet's networks: `10.16.0.0/16`. */
  readonly networks: readonly string[];
  readonly subnet: string;
}

export interface Route {
  /** `10.9.0.0/16`; `0.0.0.0/0` or `::/0` for the default. */
  readonly destination: string;
  readonly gateway: string;
}

/** What a pod's annotations say of one of its interfaces, by the controller and by the user. */
export interface InterfaceFacts {
  /** Prefix of its annotations: `ovn`, `<attachment>.<namespace>.ovn`, or the latter with `.<interface>` behind. */
  readonly provider: string;
  /** Undefined until the controller has allocated and vouches for it; a sentence where the annotations make no sense. */
  readonly network: Attachable | string | undefined;
  /** Whether the user wants the pod's default route here; undefined where nothing is said. */
  readonly hasDefaultRoute: boolean | undefined;
  /** Further routes; a problem where they cannot be read. */
  readonly routes: readonly Route[] | Problem;
  /** Delay, loss and queue length of what goes to the pod, as Open vSwitch's `linux-netem` takes them; empty for none. */
  readonly netem: Readonly<Record<string, string>>;
  readonly isMirrored: boolean;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Of a static pod: what its kubelet, and so the runtime, has for a uid. The API server has a mirror of it, which got its own. */
  readonly staticUid: string | undefined;
  /** First part of its ports' names: the pod's, or that of the virtual machine it runs. */
  readonly portOwner: string;
  /** By provider. */
  readonly interfaces: ReadonlyMap<string, InterfaceFacts>;
  /** What the controller said of its addresses: that it vouches for them, or why there are none. */
  readonly told: PodCondition | undefined;
  /** Annotations that this node cannot follow, and ignores. */
  readonly problems: readonly Problem[];
}

/** A VLAN of a provider network; 0 is without a tag. */
export interface UnderlayPlace {
  readonly provider: string;
  readonly vlan: number;
}

export interface SubnetFacts {
  readonly name: string;
  readonly uid: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly networks: readonly string[];
  /** Whether the node reaches it through ovn0: those of the default VPC whose gateway is OVN. Others may overlap with anything. */
  readonly isRouted: boolean;
  /** Whether its packets go through tunnels. */
  readonly isOverlay: boolean;
  /** The ProviderNetwork it lies in, and the VLAN there, 0 for packets without a tag; undefined for the overlay's. */
  readonly underlay: UnderlayPlace | undefined;
  readonly mtu: number | undefined;
  /** Addresses of its router there. */
  readonly gateways: readonly string[];
  /** Whether its pods take what the router advertises. */
  readonly hasRouterAdvertisements: boolean;
  /** Namespaces whose pods may be routers and DHCP servers there; `*` for all. */
  readonly routerNamespaces: readonly string[];
  readonly isNatOutgoing: boolean;
  /** The first that matches decides; none: as isNatOutgoing says. */
  readonly natRules: readonly NatRule[];
  /** Undefined: each node is the gateway of its own pods. */
  readonly gateway: CentralGateway | undefined;
  /** Where traffic that leaves the cluster goes instead of the node's own way. */
  readonly egress: EgressGateway | undefined;
  /** Fields that make no sense, and are ignored. */
  readonly problems: readonly Problem[];
}

export interface NatRule {
  /** Networks; empty: any. */
  readonly sources: readonly string[];
  readonly destinations: readonly string[];
  readonly action: 'nat' | 'forward';
}

export interface CentralGateway {
  /** Node → addresses of that node to appear with, instead of the one of the outgoing interface. */
  readonly nodes: ReadonlyMap<string, readonly string[]>;
  readonly selectors: readonly LabelSelector[];
}

export interface EgressGateway {
  /** At most one per family. */
  readonly nextHops: readonly string[];
  readonly priority: number;
  readonly table: number;
  /** To the table, as the controller has judged it: the lowest is the best. */
  readonly right: number;
}

export interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  /** Of ovn0; as for pods. */
  readonly network: Attachable | string | undefined;
  readonly internalIps: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations that tell of provider networks. */
  readonly networkNotes: Readonly<Record<string, string>>;
  /** The chassis annotation as it is. */
  readonly chassis: string | undefined;
  /** Whose daemon is to give the node back; undefined where nobody asks. */
  readonly leave: string | undefined;
  readonly unavailable: NodeCondition | undefined;
}

/** The node's NetworkUnavailable condition. */
export interface NodeCondition {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** One interface of one pod sandbox, from its ADD to its DEL. Kept in the external_ids of its OVS interface. */
export interface Sandbox {
  readonly containerId: string;
  readonly ifname: string;
  /** Name of the network configuration; undefined in records of daemons that did not write it. */
  readonly network: string | undefined;
  /** Prefix of the interface's annotations. */
  readonly provider: string;
  /** Name of the logical port: the `iface-id`. */
  readonly port: string;
  readonly netns: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly podUid: string;
  /** The veth end on the node. */
  readonly hostInterface: string;
  readonly mac: string;
  readonly ips: readonly string[];
}
