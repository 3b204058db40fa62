import { canonicalAddress, canonicalNeighbor } from './address.ts';
import type { AddressFamily } from './nlri.ts';
import type { PeerSession } from './sessions.ts';

/** Wanted configuration of a neighbour. */
export interface PeerConfig {
  /** A link-local address includes its interface: `fe80::1%eth1`. */
  readonly address: string;
  readonly asn: number;
  /** Our AS on this session, if it differs from gobgpd's own. */
  readonly localAsn?: number;
  /**
   * Our address of the session, of the neighbour's family; undefined: the address that the route to the neighbour selects. A
   * link-local address includes its interface, because gobgpd would look up the interface once and keep it after a change.
   */
  readonly sourceAddress?: string;
  /** Key of the TCP MD5 signature (RFC 2385); undefined: none. */
  readonly password?: string;
  readonly port: number;
  /** The neighbour opens the connection, gobgpd only listens. */
  readonly isPassive: boolean;
  /** 1 is a directly connected neighbour. */
  readonly ebgpMultihopTtl: number;
  /** Packets with a lower TTL are dropped (RFC 5082); undefined: any. Excludes ebgpMultihopTtl above 1. */
  readonly ttlMin?: number;
  readonly holdTimeSeconds: number;
  readonly keepaliveSeconds: number;
  /** Time between two attempts to connect; gobgpd's minimum is 2 and its default 120. */
  readonly connectRetrySeconds?: number;
  readonly families: readonly AddressFamily[];
  readonly gracefulRestart?: GracefulRestartConfig;
  /** Set if the neighbour is a route reflector client (RFC 4456); only for neighbours of the own AS. */
  readonly routeReflectorClient?: {
    /** An IPv4 address. */
    readonly clusterId: string;
  };
  /** Asynchronous, single hop (RFC 5881); gobgpd 4 only. */
  readonly bfd?: BfdConfig;
  /** Maximum number of prefixes of each family; with one more the session ends and stays down until enablePeer. */
  readonly maxPrefixes?: number;
}

export interface GracefulRestartConfig {
  readonly restartTimeSeconds: number;
  /** How long routes are held back to wait for peers that have not returned. */
  readonly deferralSeconds: number;
  /** How long routes are kept after the restart time, as a last resort (RFC 9494); undefined: not at all. */
  readonly longLivedStaleSeconds?: number;
}

export interface BfdConfig {
  readonly transmitMs: number;
  readonly receiveMs: number;
  readonly multiplier: number;
}

export interface Peer {
  readonly config: PeerConfig;
  readonly session: PeerSession;
}

/** gobgpd's default for connectRetrySeconds. */
export const defaultConnectRetrySeconds = 120;

/** Whether gobgpd's configuration of this peer is the wanted one. */
export function isSamePeer(left: PeerConfig, right: PeerConfig): boolean {
  return (
    sessionFingerprint(left) === sessionFingerprint(right) && runningFingerprint(left) === runningFingerprint(right)
  );
}

/**
 * Whether updatePeer can replace one configuration by the other without a new session. Timers and the long-lived stale time then
 * apply to the next session; maxPrefixes takes effect at once. A change or removal of BFD needs a new session, because the
 * neighbour sees BFD go down; addition of BFD does not.
 */
export function isSessionKept(before: PeerConfig, wanted: PeerConfig): boolean {
  const isBfdKept = before.bfd === undefined || bfdFingerprint(before.bfd) === bfdFingerprint(wanted.bfd);
  return isBfdKept && sessionFingerprint(before) === sessionFingerprint(wanted);
}

function sessionFingerprint(config: PeerConfig): string {
  const { gracefulRestart: restart, routeReflectorClient: client } = config;
  return [
    canonicalNeighbor(config.address),
    config.asn,
    config.localAsn ?? 'own',
    config.sourceAddress === undefined ? 'any' : canonicalNeighbor(config.sourceAddress),
    JSON.stringify(config.password ?? ''),
    config.port,
    config.isPassive ? 'passive' : 'active',
    config.ebgpMultihopTtl,
    config.ttlMin ?? 'any',
    ...config.families.toSorted(),
    restart ? `restart ${restart.restartTimeSeconds} ${restart.deferralSeconds}` : '',
    restart?.longLivedStaleSeconds === undefined ? '' : 'long-lived',
    client ? `client ${canonicalAddress(client.clusterId)}` : '',
  ].join(' ');
}

function runningFingerprint(config: PeerConfig): string {
  return [
    config.holdTimeSeconds,
    config.keepaliveSeconds,
    config.connectRetrySeconds ?? defaultConnectRetrySeconds,
    config.gracefulRestart?.longLivedStaleSeconds ?? '',
    bfdFingerprint(config.bfd),
    config.maxPrefixes ?? 'any',
  ].join(' ');
}

function bfdFingerprint(bfd: BfdConfig | undefined): string {
  return bfd ? `bfd ${bfd.transmitMs} ${bfd.receiveMs} ${bfd.multiplier}` : '';
}
