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
  /** -1 does not listen. */
  readonly listenPort: number;
}

/** One prefix to announce. */
export interface BgpPath extends PathKey {
  /** Undefined: unicast. */
  readonly evpn?: EvpnPrefix;
  readonly attributes: PathAttributes;
}

/** One path gobgpd has; two paths of one key with equal fingerprints say the same to a peer. */
export type ListedPath = Route & {
  readonly fingerprint: string;
  readonly attributes: DecodedAttributes;
  /** Whether it came in through this API rather than from a neighbour. */
  readonly isLocal: boolean;
  readonly isStale: boolean;
};

export type PathTable = { readonly table: 'global' } | { readonly table: 'adj-in' | 'adj-out'; readonly peer: string };

/** What happened to a neighbour; ask listPeers for the details. */
export interface PeerEvent {
  readonly address: string;
}

/** The API of one gobgpd process. It does not reconnect: a client lives as long as the process it was opened for. */
export interface GobgpClient {
  readonly generation: ApiGeneration;
  /** Undefined before startBgp. */
  getBgp(): Promise<BgpGlobal | undefined>;
  /** @throws GobgpInvalidArgument when it runs already */
  startBgp(wanted: BgpGlobal): Promise<void>;
  /**
   * Ends all sessions, with graceful restart where the neighbours take part in it. Every further call is refused: only a new process
   * starts again.
   * @throws GobgpUnsupported
   */
  stopBgp(options: { readonly allowGracefulRestart: boolean }): Promise<void>;
  /** @param options.advertised counts what each peer was told, a walk over the whole table. */
  listPeers(options?: { readonly advertised?: boolean }): Promise<Peer[]>;
  /** @param options.isRestarting only when this very peer had a session with a gobgpd that died. */
  addPeer(peer: PeerConfig, options?: { readonly isRestarting?: boolean }): Promise<void>;
  /** Resets the session where a changed field needs a new OPEN message. */
  updatePeer(peer: PeerConfig): Promise<void>;
  /** Ends a session with a Cease first, so that the neighbour drops our routes at once instead of keeping them for a restart. */
  deletePeer(address: string): Promise<void>;
  /** Lets a peer try again that is down by the operator's or the prefix limit's doing. */
  enablePeer(address: string): Promise<void>;
  /** Applies the policies anew. `soft` keeps the session; without it one that is up ends, and none that is not. */
  resetPeer(
    address: string,
    options: { readonly soft: boolean; readonly direction: 'in' | 'out' | 'both' },
  ): Promise<void>;
  /** Adds paths or replaces those with the same key: of unicast the prefix, of EVPN also route distinguisher and tag. */
  addPaths(paths: readonly BgpPath[]): Promise<void>;
  /** @param keys a prefix alone is one of unicast */
  withdrawPaths(keys: readonly (string | PathKey)[]): Promise<void>;
  /** Of EVPN the IP prefix routes only. */
  listPaths(family: AddressFamily, from?: PathTable): Promise<ListedPath[]>;
  listPolicies(): Promise<RoutingPolicies>;
  /** Replaces all policies; paths already sent are judged anew only by resetPeer. */
  setPolicies(wanted: RoutingPolicies): Promise<void>;
  /** `ready` resolves when changes are being reported; `ended` when they no longer are. */
  watchPeers(listener: (event: PeerEvent) => void): {
    readonly ready: Promise<void>;
    readonly ended: Promise<GobgpError>;
    close(): void;
  };
  /**
   * Reports what these neighbours announce, before any policy, existing routes first; each neighbour may come later or go. Routes that
   * gobgpd drops without a word, as at the end of a session, are withdrawn too, those of a restarting neighbour when its time is over.
   * @param families those of unicast by default; of EVPN IP prefix routes are reported
   * @throws GobgpUnsupported | GobgpInvalidArgument
   */
  watchRoutes(addresses: readonly string[], listener: RouteListener, families?: readonly AddressFamily[]): RouteWatch;
  close(): void;
}
