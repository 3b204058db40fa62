import type { Problem } from '../../lib/desired/problem.ts';

/** One session as gobgpd reports it. */
export interface ObservedSession {
  readonly state: 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';
  /** Why there is no session, CamelCase. */
  readonly reason?: string;
  readonly message?: string;
  /** Prefixes the peer told us. */
  readonly received: { readonly ipv4: number; readonly ipv6: number };
  /** How often the session was lost, as far as this speaker saw. */
  readonly flaps: number;
  /** It was up once, and is not now. */
  readonly isLost: boolean;
  /** Why it was lost last. */
  readonly lastError?: string;
  /** RFC 3339. */
  readonly establishedAt?: string;
  readonly localAddress?: string;
  readonly holdTimeSeconds?: number;
  readonly bfd?: string;
  /** gobgpd was restarted and still holds back changes from the neighbour; withdrawals made now never reach it. */
  readonly isDeferring: boolean;
  /** When TCP last had a connection with the neighbour, by the clock of `RefusedSignatures`: at that time the signatures were right. */
  readonly connectedAtMs?: number;
  /** The last period in which the neighbour was heard; `to` is undefined while it lasts. Segments refused in it come from others. */
  readonly heardMs?: { readonly from: number; readonly to: number | undefined };
  /** The limit of prefixes was exceeded, and the session stays down. */
  readonly isOverLimit: boolean;
}

/** A NOTIFICATION that ended a session or kept it from coming up. */
export interface Notification {
  /** CamelCase: `BadPeerAs`, `HoldTimerExpired`. */
  readonly reason: string;
  readonly message: string;
  /** Whether gobgpd sent it, rather than the neighbour. */
  readonly isSent: boolean;
}

/** Why sessions are down, from other sources than gobgpd's API. */
export interface Clues {
  readonly signatures: RefusedSignatures;
  /** The last one of each neighbour, by address; of sessions that are up again too. */
  readonly notifications: ReadonlyMap<string, Notification>;
}

/** When the node lately refused TCP segments for their signature, of whichever session, in order; by the monotonic clock. */
export interface RefusedSignatures {
  /** Signed with another password than ours, or not signed. */
  readonly wrongMs: readonly number[];
  /** Signed, where we have no password. */
  readonly unexpectedMs: readonly number[];
  readonly nowMs: number;
}

/** What is known of gobgpd on this node after a round, or after a failed try to reach it. */
export interface Observed {
  readonly daemon: {
    readonly isReachable: boolean;
    /** `3.x` or `4.x`; undefined while unreachable. */
    readonly version?: string;
    /** Why the instance is not as wanted. */
    readonly problem?: Problem;
  };
  /** By address. */
  readonly sessions: ReadonlyMap<string, ObservedSession>;
  /** Peers gobgpd refused, by address. */
  readonly refused: ReadonlyMap<string, Problem>;
}
