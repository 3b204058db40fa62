/** Encrypted tunnels to gateways of other clusters: what the agent wants, and what WireGuard has. Keys are base64. */
import type { GatewayKey } from '../../lib/api/kinds/gateway-key-slice.ts';

/** A GatewayKeySlice; undefined if it cannot be read. */
export interface KeySlice {
  /** Network of all addresses within tunnels. */
  readonly cidr: string;
  /** Of this cluster. */
  readonly isOwn: boolean;
  readonly gateways: readonly GatewayKey[];
}

/** The tunnels of this node; there is no plan without encryption. */
export interface TunnelsPlan {
  readonly cidr: string;
  /** The address of this node within the network; undefined until the hub has allocated one. */
  readonly address: string | undefined;
  /** The address that tunnels have outside of WireGuard, at Open vSwitch. */
  readonly end: string;
  /** Sorted by chassis; keys and addresses occur once. */
  readonly peers: readonly GatewayKey[];
  /** Of the namespace of the node and, with the userspace datapath, of that of the tunnels; in the language of nft. */
  readonly rules: { readonly node: string; readonly inside: string };
}

export interface SeenPeer {
  readonly publicKey: string;
  /** `address:port`; empty if it has none. */
  readonly endpoint: string;
  /** Unix milliseconds of the last handshake; 0 before the first. */
  readonly handshakeMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly keepaliveSeconds: number;
  /** CIDRs. */
  readonly allowedIps: readonly string[];
}

export interface SeenDevice {
  /** Empty without one. */
  readonly privateKey: string;
  readonly listenPort: number;
  readonly peers: readonly SeenPeer[];
}

export interface PeerChange {
  readonly publicKey: string;
  readonly isRemoved?: true;
  readonly endpoint?: string;
  readonly keepaliveSeconds?: number;
  /** Replaces those that it has. */
  readonly allowedIps?: readonly string[];
}

export interface DeviceChange {
  readonly privateKey?: string;
  readonly listenPort?: number;
  readonly peers: readonly PeerChange[];
}

/** After this time without a handshake WireGuard sends nothing: REJECT_AFTER_TIME of its protocol. */
export const sessionMs = 180_000;

export function hasSession({ handshakeMs }: SeenPeer, nowMs: number): boolean {
  return handshakeMs > 0 && nowMs - handshakeMs < sessionMs;
}

/** Interfaces and addresses of encrypted tunnels on a node. */
export const tunnelLinks = {
  /** The WireGuard interface. */
  device: 'isthmus-wg',
  /** With the userspace datapath: the bridge that has the node's address within tunnels, its port, and the other end of that one. */
  bridge: 'br-wg',
  port: 'wg-ovs',
  inside: 'wg-node',
} as const;
/**
 * Between the bridge and the namespace: nothing else sees these addresses. `port` and `nowhere` make a route that ends at the port of the
 * bridge, where Open vSwitch sends no tunnel.
 */
export const linkAddress = {
  bridge: '169.254.126.2',
  inside: '169.254.126.1',
  port: '169.254.126.5',
  nowhere: '169.254.126.6',
  prefix: 30,
} as const;
