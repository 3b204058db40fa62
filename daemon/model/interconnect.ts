/** Objects of the interconnect that a node reads, and the tunnels to other gateways. Addresses are checked. */
import type {
  GatewayPeer,
  GatewayProbe,
  GatewayProgram,
  GatewaySibling,
  GatewayTunnel,
  GatewayWireGuard,
} from '../../lib/api/kinds/interconnect-gateway.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';

/** A prefix of another cluster that is a route of a VPC here, in canonical text. */
export interface RemoteRoute {
  readonly prefix: string;
  readonly transitSwitch: string;
}

export interface Interconnect {
  /** Selects the gateway nodes; undefined if the selector cannot be read. */
  readonly gateways: LabelSelector | undefined;
  /** The VPC that the transit switch of the hub joins. */
  readonly vpc: string;
  /** Host of the hub: a name or an address. */
  readonly hub: string;
  /** When the keys of gateways are replaced. */
  readonly keyRotation: KeyRotation;
}

export interface KeyRotation {
  /** Age at which a key is replaced; 0 for never. */
  readonly intervalMs: number;
  /** Clusters that do not accept the next key are waited for so long. */
  readonly maxWaitMs: number;
}

export interface TransitSwitch {
  /** The VPC that it joins. */
  readonly vpc: string;
  readonly networks: readonly string[];
}

/** Routing table for forwarded packets; no subnet may use it as its policyRoutingTableID. */
export const forwardingTable = 10_155;

/** The InterconnectGateway object of the node. */
export interface InterconnectGateway {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Gateways of other clusters. */
  readonly peers: readonly GatewayPeer[];
  /** Other gateways of this cluster. */
  readonly siblings: readonly GatewaySibling[];
  /** Where others reach its WireGuard besides its tunnel address, the best first. */
  readonly endpoints: readonly string[];
  /** The last request to replace its key; empty for none. */
  readonly rotateKey: string;
  /** A sentence for each peer that is left out. */
  readonly refused: readonly string[];
  /** Size in bytes of the IP packets that must pass between tunnel addresses. */
  readonly wantedMtu: number | undefined;
  /** The status as the object has it. */
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
  readonly siblingTunnels: readonly GatewayTunnel[];
  readonly silentPrograms: readonly GatewayProgram[];
  readonly wireGuard?: GatewayWireGuard | undefined;
  /** ISO time; undefined before the first check. */
  readonly checkedAt: string | undefined;
}

/** A tunnel of the local Open vSwitch. */
export interface LocalTunnel {
  /** Name of its interface. */
  readonly name: string;
  readonly chassis: string;
  readonly address: string;
  /** Whether ovn-controller enabled BFD on it. */
  readonly isBfdWanted: boolean;
  /** `bfd_status`; empty if ovs-vswitchd runs no BFD on it. */
  readonly bfd: Readonly<Record<string, string>>;
  /** Whether an ovs-vswitchd that has ended wrote `bfd`. */
  readonly isStale: boolean;
}

const leastIntervalMs = 10_000;
/** Time between the starts of two probes: at most five probes start in a second, however many peers there are. */
export const probeGapMs = 200;

/** Milliseconds from one probe of a peer to the next. */
export function probeIntervalMs(peers: number): number {
  return Math.max(leastIntervalMs, peers * probeGapMs);
}
