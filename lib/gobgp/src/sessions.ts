import { type BgpNotification, notificationName, notificationOfMessage, notificationText } from './notifications.ts';
import { type AddressFamily, familyOfNumber } from './nlri.ts';

export type SessionState = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';

/** State of a neighbour in gobgpd. */
export interface PeerSession {
  readonly state: SessionState;
  readonly adminState: 'Up' | 'Down' | 'PrefixLimit';
  /** Number of times the session was lost within its first seconds; gobgpd counts no other losses. */
  readonly flaps: number;
  /** Why there is no session, CamelCase, as far as gobgpd reports it; no version up to 4.8 reports notifications. */
  readonly reason?: string;
  readonly detail?: string;
  readonly notification?: BgpNotification;
  /** Number of NOTIFICATIONs since the peer was added or enabled. */
  readonly notifications: { readonly sent: number; readonly received: number };
  /** Unix time. This and the following fields, up to the counts, exist only for an established session. */
  readonly establishedSince?: number;
  readonly localAddress?: string;
  /** The neighbour's. */
  readonly routerId?: string;
  /** The negotiated hold time; 0 is none. */
  readonly holdTimeSeconds?: number;
  /** Families of the neighbour that this package knows; gobgpd 4 only. */
  readonly remoteFamilies?: readonly AddressFamily[];
  /** Whether the neighbour accepts IPv6 next hops for IPv4 prefixes (RFC 8950); gobgpd 4 only. */
  readonly hasExtendedNextHop?: boolean;
  /** Undefined if it is not configured here. */
  readonly gracefulRestart?: {
    /** Whether the neighbour takes part. */
    readonly isNegotiated: boolean;
    /** The neighbour is down and its routes are kept. */
    readonly isHelping: boolean;
    /** gobgpd itself restarted: it sends the neighbour no change until the other peers are back, or their time has expired. */
    readonly isDeferring: boolean;
  };
  /** Undefined without BFD. */
  readonly bfdState?: 'Up' | 'Down' | 'Init' | 'AdminDown';
  readonly families: readonly FamilyCounts[];
  /** Sums over the families. */
  readonly received: number;
  readonly accepted: number;
  readonly advertised: number;
}

export interface FamilyCounts {
  readonly family: AddressFamily;
  readonly received: number;
  readonly accepted: number;
  /** 0 if the count was not requested. */
  readonly advertised: number;
}

interface FamilyMessage {
  readonly afi: number;
  readonly safi: number;
}

interface CapabilityMessage {
  readonly multi_protocol?: { readonly family?: FamilyMessage | null } | null;
  readonly extended_nexthop?: {
    readonly tuples: readonly { readonly nlri_family?: FamilyMessage | null }[];
  } | null;
  readonly graceful_restart?: object | null;
}

/** The parts of a peer's message about its session, with the configuration that is needed to read them. */
export interface SessionMessage {
  readonly state?: {
    readonly session_state: string;
    readonly admin_state: string;
    readonly flops: number;
    readonly router_id: string;
    readonly messages?: {
      readonly received?: { readonly notification: number } | null;
      readonly sent?: { readonly notification: number } | null;
    } | null;
    readonly remote_cap?: readonly CapabilityMessage[];
    readonly disconnect_reason?: string;
    readonly disconnect_message?: string;
    readonly bfd_state?: { readonly session_state: string } | null;
  } | null;
  readonly timers?: {
    readonly config?: {
      readonly hold_time: number;
      readonly keepalive_interval: number;
      readonly connect_retry: number;
    } | null;
    readonly state?: {
      readonly negotiated_hold_time: number;
      readonly uptime?: { readonly seconds: number } | null;
      readonly downtime?: { readonly seconds: number } | null;
    } | null;
  } | null;
  readonly transport?: {
    readonly local_address: string;
    readonly remote_port: number;
    readonly passive_mode: boolean;
  } | null;
  readonly graceful_restart?: {
    readonly enabled: boolean;
    readonly restart_time: number;
    readonly deferral_time: number;
    readonly longlived_enabled: boolean;
    readonly peer_restarting: boolean;
    readonly local_restarting: boolean;
  } | null;
  readonly afi_safis?: readonly {
    readonly config?: { readonly family?: FamilyMessage | null } | null;
    readonly state?: { readonly received: number; readonly accepted: number; readonly advertised: number } | null;
    readonly mp_graceful_restart?: { readonly state?: { readonly received: boolean } | null } | null;
  }[];
  readonly bfd?: {
    readonly enabled: boolean;
    readonly desired_minimum_tx_interval: number;
    readonly required_minimum_receive: number;
    readonly detection_multiplier: number;
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

const bfdStates: Readonly<Record<string, PeerSession['bfdState']>> = {
  BFD_UP: 'Up',
  BFD_DOWN: 'Down',
  BFD_ADMIN_DOWN: 'AdminDown',
  BFD_INIT: 'Init',
};

/** The session of a peer from ListPeer. */
export function sessionOfMessage(message: SessionMessage): PeerSession {
  const { state } = message;
  const bfdState = message.bfd?.enabled ? bfdStates[state?.bfd_state?.session_state ?? ''] : undefined;
  const families = familiesOf(message);
  const sum = (key: 'received' | 'accepted' | 'advertised') => families.reduce((total, each) => total + each[key], 0);
  const isEstablished = state?.session_state === 'SESSION_ESTABLISHED';
  return {
    state: sessionStates[state?.session_state ?? ''] ?? 'Idle',
    adminState: adminStates[state?.admin_state ?? ''] ?? 'Up',
    flaps: state?.flops ?? 0,
    notifications: notificationsOf(message),
    ...(isEstablished ? establishedOf(message) : reasonOf(message, bfdState)),
    ...restartOf(message),
    ...(bfdState && { bfdState }),
    families,
    received: sum('received'),
    accepted: sum('accepted'),
    advertised: sum('advertised'),
  };
}

function establishedOf({ state, timers, transport }: SessionMessage): Partial<PeerSession> {
  const since = timers?.state?.uptime?.seconds;
  // A capability of one kind leaves the others null; gobgpd 3 sends them in another form, which is not read here.
  const capabilities = state?.remote_cap?.length ? state.remote_cap : undefined;
  const remoteFamilies = capabilities?.flatMap(({ multi_protocol: speaks }) => familyOf(speaks?.family) ?? []);
  const extended = capabilities?.flatMap(({ extended_nexthop: next }) => next?.tuples ?? []);
  return {
    ...(since && { establishedSince: since }),
    ...(transport?.local_address && { localAddress: transport.local_address.replace(/%.*$/, '') }),
    ...(state?.router_id && { routerId: state.router_id }),
    holdTimeSeconds: timers?.state?.negotiated_hold_time ?? 0,
    ...(remoteFamilies && { remoteFamilies }),
    ...(extended && {
      hasExtendedNextHop: extended.some(({ nlri_family: family }) => familyOf(family) === 'ipv4-unicast'),
    }),
  };
}

function restartOf(message: SessionMessage): Pick<PeerSession, 'gracefulRestart'> {
  const restart = message.graceful_restart;
  if (!restart?.enabled) return {};
  const isNegotiated =
    message.state?.remote_cap?.some((capability) => Boolean(capability.graceful_restart)) ||
    message.afi_safis?.some((family) => family.mp_graceful_restart?.state?.received);
  const { peer_restarting: isHelping, local_restarting: isDeferring } = restart;
  return { gracefulRestart: { isNegotiated: isNegotiated ?? false, isHelping, isDeferring } };
}

function familiesOf({ afi_safis: families = [] }: SessionMessage): FamilyCounts[] {
  return families.flatMap(({ config, state }) => {
    const family = familyOf(config?.family);
    const { received = 0, accepted = 0, advertised = 0 } = state ?? {};
    return family ? [{ family, received, accepted, advertised }] : [];
  });
}

function reasonOf(
  message: SessionMessage,
  bfdState: PeerSession['bfdState'],
): Pick<PeerSession, 'reason' | 'detail' | 'notification'> {
  const { admin_state: admin, disconnect_reason: reason, disconnect_message: text } = message.state ?? {};
  if (admin === 'ADMIN_PREFIX_LIMIT')
    return {
      reason: 'PrefixLimit',
      detail: 'the neighbour sent more prefixes than it may',
    };
  if (admin === 'ADMIN_DOWN') return { reason: 'AdminDown', detail: 'the peer is disabled in gobgpd' };
  const notification = text ? notificationOfMessage(text) : undefined;
  if (notification)
    return { reason: notificationName(notification), detail: notificationText(notification), notification };
  if (reason && reason !== 'DISCONNECT_UNSPECIFIED')
    return { reason: camelCase(reason.replace('DISCONNECT_', '')), ...(text && { detail: text }) };
  return inferredReason(message, bfdState);
}

/** gobgpd counts notifications without their content, so the inferred reason depends on whether there ever was a session. */
function inferredReason(
  message: SessionMessage,
  bfdState: PeerSession['bfdState'],
): Pick<PeerSession, 'reason' | 'detail'> {
  const hadSession = Boolean(message.timers?.state?.uptime?.seconds);
  if (hadSession)
    return bfdState === 'Down'
      ? { reason: 'BfdDown', detail: 'the session is down, and so is BFD with the neighbour' }
      : {};
  const { sent, received } = notificationsOf(message);
  if (received > 0)
    return {
      reason: 'OpenRefusedByNeighbor',
      detail: 'the neighbour refuses our OPEN; compare AS, router ID, hold time and families with its configuration',
    };
  if (sent > 0)
    return {
      reason: 'OpenRefused',
      detail: "gobgpd refuses the neighbour's OPEN, mostly because its AS is another than the configured one",
    };
  return {};
}

function notificationsOf({ state }: SessionMessage): PeerSession['notifications'] {
  const { sent, received } = state?.messages ?? {};
  return { sent: sent?.notification ?? 0, received: received?.notification ?? 0 };
}

function camelCase(words: string): string {
  return words
    .toLowerCase()
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

function familyOf(number: FamilyMessage | null | undefined): AddressFamily | undefined {
  return number ? familyOfNumber(number.afi, number.safi) : undefined;
}
