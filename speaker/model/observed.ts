import type { Problem } from '../../lib/desired/problem.ts';

/** One session as gobgpd reports it. */
export interface ObservedSession {
  readonly state: 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';
  /** Why there is no session, CamelCase. */
  readonly reason?: string;
  readonly message?: string;
  /** Number of prefixes that the peer announces. */
  readonly received: { readonly ipv4: number; readonly ipv6: number };
  /** How often the session was lost, as far as this speaker has seen. */
  readonly flaps: number;
  /** The session was established once, and is not now. */
  readonly isLost: boolean;
  /** The reason for the last loss. */
  readonly lastError?: string;
  /** RFC 3339. */
  readonly establishedAt?: string;
  readonly localAddress?: string;
  readonly holdTimeSeconds?: number;
  readonly bfd?: string;
  /** gobgpd was restarted and still holds back changes from the neighbour; withdrawals made now never reach it. */
  readonly isDeferring: boolean;
  /** When TCP last had a connection with the neighbour, by the clock of `RefusedSignatures`: at that time the signatures were correct. */
  readonly connectedAtMs?: number;
  /** The last period in which the neighbour was heard; `to` is undefined while it lasts. Segments refused in that period come from other senders. */
  readonly heardMs?: { readonly from: number; readonly to: number | undefined };
  /** The prefix limit was exceeded, and the session stays down. */
  readonly isOverLimit: boolean;
}

/** A NOTIFICATION that ended a session or prevented it. */
export interface Notification {
  /** CamelCase: `BadPeerAs`, `HoldTimerExpired`. */
  readonly reason: string;
  readonly message: string;
  /** Whether gobgpd sent it, rather than the neighbour. */
  readonly isSent: boolean;
}

/** Reasons why sessions are down, from sources other than gobgpd's API. */
export interface Clues {
  readonly signatures: RefusedSignatures;
  /** The last notification of each neighbour, by address; also of sessions that are established again. */
  readonly notifications: ReadonlyMap<string, Notification>;
}

/** Monotonic times, in order, at which the node recently refused TCP segments for their signature, for all sessions together. */
export interface RefusedSignatures {
  /** Segments signed with a different password, or not signed. */
  readonly wrongMs: readonly number[];
  /** Signed segments for connections without a password. */
  readonly unexpectedMs: readonly number[];
  readonly nowMs: number;
}

/** The state of gobgpd on this node after a round, or after a failed attempt to reach it. */
export interface Observed {
  readonly daemon: {
    readonly isReachable: boolean;
    /** `3.x` or `4.x`; undefined while unreachable. */
    readonly version?: string;
    /** The problem because of which the instance is not as wanted. */
    readonly problem?: Problem;
  };
  /** Sessions by address. */
  readonly sessions: ReadonlyMap<string, ObservedSession>;
  /** Peers that gobgpd refused, by address. */
  readonly refused: ReadonlyMap<string, Problem>;
}
