/** What the daemon knows of its node as a gateway between clusters: made by watch/, read by plan/ and status/. */
import type {
  GatewayPeer,
  GatewayProbe,
  GatewayProgram,
  GatewaySibling,
  GatewayTunnel,
} from '../../lib/api/kinds/interconnect-gateway.ts';

/** The node's InterconnectGateway object. */
export interface GatewayFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Gateways of other clusters; their addresses are checked. */
  readonly peers: readonly GatewayPeer[];
  /** Other gateways of this cluster. */
  readonly siblings: readonly GatewaySibling[];
  /** A sentence for each peer that is left out. */
  readonly refused: readonly string[];
  /** IP packet size, in bytes, that has to pass between tunnel addresses. */
  readonly wantedMtu: number | undefined;
  /** What the object says by now. */
  readonly tunnels: readonly GatewayTunnel[];
  readonly probes: readonly GatewayProbe[];
  readonly siblingTunnels: readonly GatewayTunnel[];
  readonly silentPrograms: readonly GatewayProgram[];
  /** ISO time; undefined before the first check. */
  readonly checkedAt: string | undefined;
}

/** A tunnel of the local Open vSwitch. */
export interface LocalTunnel {
  /** Of its interface. */
  readonly name: string;
  readonly chassis: string;
  readonly address: string;
  /** Whether ovn-controller wants BFD on it. */
  readonly isBfdWanted: boolean;
  /** `bfd_status`; empty where ovs-vswitchd runs none. */
  readonly bfd: Readonly<Record<string, string>>;
  /** Whether `bfd` was written by an ovs-vswitchd that is no more. */
  readonly isStale: boolean;
}
