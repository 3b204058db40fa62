import { canonicalAddress } from './address.ts';
import { GobgpInvalidArgument } from './errors.ts';
import { type AddressFamily, familyNumber, familyOfNumber } from './nlri.ts';

/** One neighbour as we want it. */
export interface PeerConfig {
  readonly address: string;
  readonly asn: number;
  /** Our AS on this session, where it is another than gobgpd's own. */
  readonly localAsn?: number;
  /** Key of the TCP MD5 signature (RFC 2385); undefined: none. */
  readonly password?: string;
  readonly port: number;
  /** The neighbour opens the connection, gobgpd only listens. */
  readonly isPassive: boolean;
  /** 1 is a directly connected neighbour. */
  readonly ebgpMultihopTtl: number;
  /** Packets that come with less are dropped (RFC 5082); undefined: any. Excludes ebgpMultihopTtl above 1. */
  readonly ttlMin?: number;
  readonly holdTimeSeconds: number;
  readonly keepaliveSeconds: number;
  readonly families: readonly AddressFamily[];
  readonly gracefulRestart?: {
    readonly restartTimeSeconds: number;
    /** How long routes are held back for the sake of peers that do not come back. */
    readonly deferralSeconds: number;
  };
}

export type SessionState = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';

/** One neighbour as gobgpd sees it. */
export interface PeerSession {
  readonly state: SessionState;
  readonly adminState: 'Up' | 'Down' | 'PrefixLimit';
  /** How often the session was lost. */
  readonly flaps: number;
  /** Why the last session ended, CamelCase; only gobgpd 4 tells. */
  readonly reason?: string;
  readonly detail?: string;
  readonly received: number;
  readonly accepted: number;
  readonly advertised: number;
}

export interface Peer {
  readonly config: PeerConfig;
  readonly session: PeerSession;
}

interface AfiSafiMessage {
  readonly config?: { readonly family?: { readonly afi: number; readonly safi: number } | null } | null;
  readonly state?: { readonly received: number; readonly accepted: number; readonly advertised: number } | null;
}

export interface PeerMessage {
  readonly conf?: {
    readonly neighbor_address: string;
    readonly peer_asn: number;
    readonly local_asn: number;
    readonly auth_password: string;
  } | null;
  readonly ebgp_multihop?: { readonly enabled: boolean; readonly multihop_ttl: number } | null;
  readonly timers?: {
    readonly config?: { readonly hold_time: number; readonly keepalive_interval: number } | null;
  } | null;
  readonly transport?: { readonly remote_port: number; readonly passive_mode: boolean } | null;
  readonly ttl_security?: { readonly enabled: boolean; readonly ttl_min: number } | null;
  readonly graceful_restart?: {
    readonly enabled: boolean;
    readonly restart_time: number;
    readonly deferral_time: number;
  } | null;
  readonly afi_safis?: readonly AfiSafiMessage[];
  readonly state?: {
    readonly session_state: string;
    readonly admin_state: string;
    readonly flops: number;
    readonly disconnect_reason?: string;
    readonly disconnect_message?: string;
  } | null;
}

const sessionStates: Readonly<Record<string, SessionState>> = {
  SESSION_IDLE: 'Idle',
  SESSION_CONNECT: 'Connect',
  SESSION_ACTIVE: 'Active',
  SESSION_OPENSENT: 'OpenSent',
  SESSION_OPENCONFIRM: 'OpenConfirm',
  SESSION_ESTABLISHED: 'Established',
};

const adminStates: Readonly<Record<string, PeerSession['adminState']>> = {
  ADMIN_DOWN: 'Down',
  ADMIN_PREFIX_LIMIT: 'PrefixLimit',
};

/**
 * The message that makes this peer.
 * @param isRestarting says the session existed before gobgpd itself was restarted; routes then wait for the peer's End-of-RIB.
 * @throws GobgpInvalidArgument
 */
export function peerMessage(config: PeerConfig, isRestarting: boolean): object {
  const restart = config.gracefulRestart;
  if (config.families.length === 0) throw new GobgpInvalidArgument(`peer ${config.address} has no address family`);
  if (config.ttlMin !== undefined && config.ebgpMultihopTtl > 1)
    throw new GobgpInvalidArgument(`peer ${config.address} has both TTL security and multihop`);
  return {
    conf: {
      neighbor_address: canonicalAddress(config.address),
      peer_asn: config.asn,
      local_asn: config.localAsn ?? 0,
      auth_password: config.password ?? '',
    },
    ebgp_multihop: {
      enabled: config.ebgpMultihopTtl > 1,
      multihop_ttl: config.ebgpMultihopTtl > 1 ? config.ebgpMultihopTtl : 0,
    },
    timers: { config: { hold_time: config.holdTimeSeconds, keepalive_interval: config.keepaliveSeconds } },
    ttl_security: { enabled: config.ttlMin !== undefined, ttl_min: config.ttlMin ?? 0 },
    transport: { remote_port: config.port, passive_mode: config.isPassive },
    graceful_restart: restart
      ? {
          enabled: true,
          restart_time: restart.restartTimeSeconds,
          deferral_time: restart.deferralSeconds,
          local_restarting: isRestarting,
        }
      : { enabled: false },
    afi_safis: config.families.map((family) => ({
      mp_graceful_restart: { config: { enabled: restart !== undefined } },
      config: { family: familyNumber(family), enabled: true },
    })),
  };
}

/** A peer as ListPeer gave it. @param ownAsn gobgpd's own AS, which it fills in for peers that have no other */
export function peerOfMessage(message: PeerMessage, ownAsn: number): Peer {
  return { config: configOf(message, ownAsn), session: sessionOfMessage(message) };
}

/** Whether gobgpd has this peer as wanted. */
export function isSamePeer(left: PeerConfig, right: PeerConfig): boolean {
  return peerFingerprint(left) === peerFingerprint(right);
}

function peerFingerprint(config: PeerConfig): string {
  const restart = config.gracefulRestart;
  return [
    canonicalAddress(config.address),
    config.asn,
    config.localAsn ?? 'own',
    JSON.stringify(config.password ?? ''),
    config.port,
    config.isPassive ? 'passive' : 'active',
    config.ebgpMultihopTtl,
    config.ttlMin ?? 'any',
    config.holdTimeSeconds,
    config.keepaliveSeconds,
    ...config.families.toSorted(),
    restart ? `restart ${restart.restartTimeSeconds} ${restart.deferralSeconds}` : '',
  ].join(' ');
}

function configOf(message: PeerMessage, ownAsn: number): PeerConfig {
  const localAsn = message.conf?.local_asn ?? 0;
  const restart = message.graceful_restart;
  const families = (message.afi_safis ?? []).flatMap(({ config }) => {
    const family = config?.family && familyOfNumber(config.family.afi, config.family.safi);
    return family ? [family] : [];
  });
  return {
    address: message.conf?.neighbor_address ?? '',
    asn: message.conf?.peer_asn ?? 0,
    ...(message.conf?.auth_password && { password: message.conf.auth_password }),
    ...(localAsn !== 0 && localAsn !== ownAsn && { localAsn }),
    port: message.transport?.remote_port || 179,
    isPassive: message.transport?.passive_mode ?? false,
    ebgpMultihopTtl: message.ebgp_multihop?.enabled ? message.ebgp_multihop.multihop_ttl : 1,
    ...(message.ttl_security?.enabled && { ttlMin: message.ttl_security.ttl_min }),
    holdTimeSeconds: message.timers?.config?.hold_time ?? 0,
    keepaliveSeconds: message.timers?.config?.keepalive_interval ?? 0,
    families,
    ...(restart?.enabled && {
      gracefulRestart: { restartTimeSeconds: restart.restart_time, deferralSeconds: restart.deferral_time },
    }),
  };
}

/** The session in a peer as ListPeer gave it. */
export function sessionOfMessage({ state, afi_safis: families = [] }: PeerMessage): PeerSession {
  const count = (key: 'received' | 'accepted' | 'advertised') =>
    families.reduce((sum, family) => sum + (family.state?.[key] ?? 0), 0);
  return {
    state: sessionStates[state?.session_state ?? ''] ?? 'Idle',
    adminState: adminStates[state?.admin_state ?? ''] ?? 'Up',
    flaps: state?.flops ?? 0,
    ...reasonOf(state?.disconnect_reason, state?.disconnect_message),
    received: count('received'),
    accepted: count('accepted'),
    advertised: count('advertised'),
  };
}

function reasonOf(reason: string | undefined, detail: string | undefined): Pick<PeerSession, 'reason' | 'detail'> {
  if (!reason || reason === 'DISCONNECT_UNSPECIFIED') return {};
  const words = reason.replace('DISCONNECT_', '').toLowerCase().split('_');
  const camel = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return { reason: camel, ...(detail && { detail }) };
}
