/** Provider networks on this node. Addresses are in canonical text. */
import type { ProviderNetworkSpec } from '../../lib/api/kinds/provider-network.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { NicAddress, NicRoute } from './nic.ts';

export interface ProviderNetwork {
  readonly name: string;
  readonly uid: string;
  /** Grows with each change of the spec. */
  readonly generation: number;
  /** ISO time. */
  readonly createdAt: string;
  /** Undefined if the object does not match its schema. */
  readonly spec: ProviderNetworkSpec | undefined;
  /** Whether nodes only report what they would do. */
  readonly isDryRun: boolean;
}

/** Where the tunnel address is. */
export interface TunnelAddress {
  readonly datapathType: 'system' | 'netdev';
  /** The interface that has the tunnel address; undefined if none has it. */
  readonly holder: string | undefined;
  /** Whether that interface is a bridge of the local Open vSwitch. */
  readonly isOnBridge: boolean;
  /** Whether the node has tunnels. A function, because it reads all interfaces and the answer is seldom needed. */
  readonly hasTunnels: () => boolean;
}

/** An interface whose addresses and routes are on a port of the bridge instead. */
export interface MovedInterface {
  readonly device: string;
  readonly port: string;
  readonly addresses: readonly NicAddress[];
  readonly routes: readonly NicRoute[];
}

/**
 * `joining` and `returning` are under way; the kernel knows how far they got. `joined` is complete and is kept.
 * `rolledBack` means that everything is back where it was, and that the same request is not tried again.
 */
export type MovePhase = 'joining' | 'joined' | 'returning' | 'rolledBack';

/** The move of an interface into its bridge. It is written into the bridge's external_ids before the first step. */
export interface NicMove {
  readonly network: string;
  readonly phase: MovePhase;
  readonly nic: string;
  readonly mac: string;
  /** Bytes. */
  readonly mtu: number;
  /** Identifies the request: object, generation, interface. */
  readonly wish: string;
  readonly moved: readonly MovedInterface[];
  /** Destinations that answered over the interface before, and must answer after the move. */
  readonly checks: { readonly gateways: readonly string[]; readonly api: boolean };
  /** Why the interface returns, or was rolled back. */
  readonly failure?: Problem;
}

export interface LocalBridge {
  /** Names of its ports. */
  readonly ports: readonly string[];
  /** Owner of the row, with the room; undefined if the row has none. */
  readonly owner: string | undefined;
  readonly vendor: string | undefined;
  /** The move that its external_ids record. */
  readonly move: string | undefined;
  /** The MTU that its external_ids record if the node routes to its network, in bytes. */
  readonly routedMtu?: number;
}

/** The bridges and bridge settings of the local Open_vSwitch database. */
export interface LocalBridges {
  readonly bridges: ReadonlyMap<string, LocalBridge>;
  /** `ovn-bridge-mappings` as it is, and its entries that the daemon wrote. */
  readonly mappings: string;
  readonly ownMappings: string;
  /** The same for `ovn-chassis-mac-mappings`. */
  readonly routerMacs: string;
  readonly ownRouterMacs: string;
}

/** State of a network on this node, for Kubernetes and for pods. */
export interface NetworkReport {
  readonly network: string;
  readonly isReady: boolean;
  /** The interface that joined, or the bridge to which the node routes; undefined if there is none. */
  readonly nic: { readonly name: string; readonly mtu: number } | undefined;
  /** Why the network is not ready, or what is wrong with it. */
  readonly problem: Problem | undefined;
  /** What the node would do; only for a dry run. */
  readonly plan: string | undefined;
}
