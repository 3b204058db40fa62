/**
 * What the daemon knows of provider networks: made by watch/ from Kubernetes objects and by host/ from the kernel; read by
 * plan/underlay. Addresses in here are in canonical text.
 */
import type { ProviderNetworkSpec } from '../../lib/api/kinds/provider-network.ts';
import type { Problem } from '../../lib/desired/problem.ts';

export interface ProviderNetworkFacts {
  readonly name: string;
  readonly uid: string;
  /** Grows with each change of the spec. */
  readonly generation: number;
  /** ISO time. */
  readonly createdAt: string;
  /** Undefined where the object does not have what its schema asks for. */
  readonly spec: ProviderNetworkSpec | undefined;
  /** Whether nodes shall only say what they would do. */
  readonly isDryRun: boolean;
}

/** Where the tunnel address is. */
export interface TunnelFacts {
  readonly datapathType: 'system' | 'netdev';
  /** The interface that has the tunnel address; undefined where none has. */
  readonly holder: string | undefined;
  /** Whether that is a bridge of the local Open vSwitch. */
  readonly isOnBridge: boolean;
  /** Whether the node has tunnels; asked only where they could not leave, as it reads all interfaces. */
  readonly hasTunnels: () => boolean;
}

/** An address of an interface, with what is needed to give it to another. */
export interface NicAddress {
  readonly address: string;
  readonly prefix: number;
  /** The other end of a point-to-point link. */
  readonly peer?: string;
  readonly broadcast?: string;
  /** rt_scope. */
  readonly scope: number;
  /** The kernel makes no route of it. */
  readonly isRouteless?: true;
  /** The node does not send from it of its own accord. */
  readonly isDeprecated?: true;
  /** Metric of the route that the kernel makes of it. */
  readonly metric?: number;
}

/** A route over an interface, with what is needed to lead it over another. */
export interface NicRoute {
  /** `10.16.0.0/16`; `0.0.0.0/0` or `::/0` for the default. */
  readonly destination: string;
  readonly gateway?: string;
  readonly source?: string;
  readonly table: number;
  readonly protocol: number;
  readonly scope: number;
  readonly tos: number;
  readonly metric?: number;
  /** The gateway counts as a neighbour, whatever the addresses say. */
  readonly isOnlink?: true;
  /** RTA_METRICS, RTA_VIA and RTA_PREF as the kernel has them, in hexadecimal, by number. */
  readonly extras?: Readonly<Record<string, string>>;
}

export interface NicFacts {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  /** Bytes. */
  readonly mtu: number;
  /** Somebody set it up. */
  readonly isUp: boolean;
  /** And what it is plugged into is there. */
  readonly hasLink: boolean;
  readonly isLoopback: boolean;
  /** `veth`, `vlan`, `bridge` …; empty for hardware. */
  readonly kind: string;
  /** Name of the bridge or bond it is a member of. */
  readonly master: string | undefined;
  /** Of a VLAN interface: its id, and the name of the interface it is upon. */
  readonly vlan: { readonly id: number; readonly parent: string } | undefined;
  /** All but link-local ones. */
  readonly addresses: readonly NicAddress[];
  /** In the kernel's order; without what the kernel makes of addresses. */
  readonly routes: readonly NicRoute[];
  /** Destinations of routes with several next hops, one of them here. */
  readonly multipath: readonly string[];
}

/** The node's interfaces by name. */
export type NicsByName = ReadonlyMap<string, NicFacts>;

/** An interface whose addresses and routes are at a port of the bridge meanwhile. */
export interface MovedInterface {
  readonly device: string;
  readonly port: string;
  readonly addresses: readonly NicAddress[];
  readonly routes: readonly NicRoute[];
}

/**
 * `joining` and `returning`: under way; what of it is done, the kernel tells. `joined`: done, and to be kept so.
 * `rolledBack`: everything is where it was, and not to be tried again for the same wish.
 */
export type MovePhase = 'joining' | 'joined' | 'returning' | 'rolledBack';

/** The move of an interface into its bridge. Kept in the bridge's external_ids, written there before its first step. */
export interface NicMove {
  readonly network: string;
  readonly phase: MovePhase;
  readonly nic: string;
  readonly mac: string;
  /** Bytes. */
  readonly mtu: number;
  /** What was asked for: object, generation, interface. */
  readonly wish: string;
  readonly moved: readonly MovedInterface[];
  /** What worked over the interface before, and has to work after. */
  readonly checks: { readonly gateways: readonly string[]; readonly api: boolean };
  /** Why it returns, or was rolled back. */
  readonly failure?: Problem;
}

export interface LocalBridge {
  /** Names of its ports. */
  readonly ports: readonly string[];
  /** Whose rows, with the room; undefined where nobody said. */
  readonly owner: string | undefined;
  readonly vendor: string | undefined;
  /** What stands of a move in its external_ids. */
  readonly move: string | undefined;
}

/** What the daemon needs to see of the local Open_vSwitch database. */
export interface LocalBridges {
  readonly bridges: ReadonlyMap<string, LocalBridge>;
  /** `ovn-bridge-mappings` as it is, and the entries in it that the daemon wrote. */
  readonly mappings: string;
  readonly ownMappings: string;
  /** `ovn-chassis-mac-mappings`, as well. */
  readonly routerMacs: string;
  readonly ownRouterMacs: string;
}

/** How a network is on this node, for Kubernetes and for pods. */
export interface NetworkReport {
  readonly network: string;
  readonly isReady: boolean;
  /** Undefined where none is joined. */
  readonly nic: { readonly name: string; readonly mtu: number } | undefined;
  /** Why it is not ready, or what is not as it should be. */
  readonly problem: Problem | undefined;
  /** What would be done; only for a dry run. */
  readonly plan: string | undefined;
}
