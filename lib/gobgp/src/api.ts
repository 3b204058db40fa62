import type { DecodedAttributes, PathAttributes } from './attributes.ts';
import type { GobgpError } from './errors.ts';
import type { EvpnPrefix } from './evpn.ts';
import type { AddressFamily } from './nlri.ts';
import type { Peer, PeerConfig } from './peers.ts';
import type { RoutingPolicies } from './policies.ts';
import type { PathKey, Route } from './route-nlri.ts';
import type { RouteListener, RouteWatch } from './routes.ts';
import type { ApiGeneration } from './transport.ts';

/** The settings of a running gobgpd that only a new process can change. */
export interface BgpGlobal {
  readonly asn: number;
  /** An IPv4 address. */
  readonly routerId: string;
  /** -1: gobgpd does not listen. */
  readonly listenPort: number;
}

/** One prefix to announce. */
export interface BgpPath extends PathKey {
  /** Undefined: unicast. */
  readonly evpn?: EvpnPrefix;
  readonly attributes: PathAttributes;
}

/** A path in gobgpd. Paths with the same key and equal fingerprints are the same for a peer. */
export type ListedPath = Route & {
  readonly fingerprint: string;
  readonly attributes: DecodedAttributes;
  /** Whether it came in through this API rather than from a neighbour. */
  readonly isLocal: boolean;
  readonly isStale: boolean;
};

export type PathTable = { readonly table: 'global' } | { readonly table: 'adj-in' | 'adj-out'; readonly peer: string };

/** An event of a neighbour; listPeers returns the details. */
export interface PeerEvent {
  readonly address: string;
}

/** The API of one gobgpd process. It does not reconnect: a client lives as long as its gobgpd process. */
export interface GobgpClient {
  readonly generation: ApiGeneration;
  /** Undefined before startBgp. */
  getBgp(): Promise<BgpGlobal | undefined>;
  /** @throws GobgpInvalidArgument when it runs already */
  startBgp(wanted: BgpGlobal): Promise<void>;
  /**
   * Ends all sessions, with graceful restart if the neighbours support it. Every further call is refused: only a new process can
   * start BGP again.
   * @throws GobgpUnsupported
   */
  stopBgp(options: { readonly allowGracefulRestart: boolean }): Promise<void>;
  /** @param options.advertised counts the paths sent to each peer, which walks the whole table. */
  listPeers(options?: { readonly advertised?: boolean }): Promise<Peer[]>;
  /** @param options.isRestarting only if this peer had a session with a gobgpd that died. */
  addPeer(peer: PeerConfig, options?: { readonly isRestarting?: boolean }): Promise<void>;
  /** Resets the session where a changed field needs a new OPEN message. */
  updatePeer(peer: PeerConfig): Promise<void>;
  /** Ends a session with a Cease first, so that the neighbour drops our routes at once instead of keeping them for a restart. */
  deletePeer(address: string): Promise<void>;
  /** Enables a peer again that the operator or the prefix limit has shut down. */
  enablePeer(address: string): Promise<void>;
  /** Applies the policies again. `soft` keeps the session; without it only an established session is ended. */
  resetPeer(
    address: string,
    options: { readonly soft: boolean; readonly direction: 'in' | 'out' | 'both' },
  ): Promise<void>;
  /** Adds paths or replaces paths with the same key: for unicast the prefix, for EVPN also route distinguisher and tag. */
  addPaths(paths: readonly BgpPath[]): Promise<void>;
  /** @param keys a prefix alone is a unicast path */
  withdrawPaths(keys: readonly (string | PathKey)[]): Promise<void>;
  /** For EVPN only the IP prefix routes. */
  listPaths(family: AddressFamily, from?: PathTable): Promise<ListedPath[]>;
  listPolicies(): Promise<RoutingPolicies>;
  /** Replaces all policies; they apply to paths that were already sent only after resetPeer. */
  setPolicies(wanted: RoutingPolicies): Promise<void>;
  /** `ready` resolves when changes are being reported; `ended` when they no longer are. */
  watchPeers(listener: (event: PeerEvent) => void): {
    readonly ready: Promise<void>;
    readonly ended: Promise<GobgpError>;
    close(): void;
  };
  /**
   * Reports the routes of these neighbours, before any policy, existing routes first; neighbours may be added or removed later. Routes
   * that gobgpd drops without an event, as at the end of a session, are withdrawn, too; those of a restarting neighbour when its
   * restart time is over.
   * @param families unicast by default; for EVPN only IP prefix routes are reported
   * @throws GobgpUnsupported | GobgpInvalidArgument
   */
  watchRoutes(addresses: readonly string[], listener: RouteListener, families?: readonly AddressFamily[]): RouteWatch;
  close(): void;
}
