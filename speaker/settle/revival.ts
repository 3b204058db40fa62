// Restores sessions that gobgpd would leave down too long. After the end of a session gobgpd waits five seconds before it connects or accepts, which
// cannot be configured; a peer that is deleted and added again waits at most two. A session that exceeded its prefix limit stays down until it is
// enabled.
import { TokenBucket } from '../../lib/run/token-bucket.ts';
import type { ObservedSession } from '../model/observed.ts';

/** gobgpd may learn the reason of a loss shortly after the loss, and forgets it together with the peer. */
const reasonMs = 50;
/** Rate limit: once it is used up, a neighbour that ends sessions repeatedly is left to gobgpd's own timing. */
const allowed = { burst: 20, refillMs: 10_000 } as const;

/** The maximum number of prefixes of a peer, and the time until the session is enabled again. */
export interface PrefixLimit {
  readonly limit?: number | undefined;
  readonly restartSeconds?: number | undefined;
}

export type Remedy =
  /** Delete and add the peer. */
  | 'remake'
  /** Enable the peer that gobgpd disabled. */
  | 'enable'
  /** Check the session again after this time. */
  | { readonly againMs: number };

export class Revival {
  readonly #isUp = new Set<string>();
  readonly #allowances = new Map<string, TokenBucket>();
  /** Time of the loss of each session that is to be restored. */
  readonly #lostAtMs = new Map<string, number>();
  readonly #overLimit = new Map<string, { readonly limit: number | undefined; readonly sinceMs: number }>();

  /**
   * The action that restores the session; undefined: none is necessary.
   * @param isPeer whether gobgpd has the peer as this node wants it
   * @param nowMs monotonic time
   */
  judge(
    address: string,
    session: ObservedSession,
    { isPeer, prefixes }: { readonly isPeer: boolean; readonly prefixes: PrefixLimit | undefined },
    nowMs: number,
  ): Remedy | undefined {
    const isOver = isPeer && session.isOverLimit;
    if (!isOver) this.#overLimit.delete(address);
    const lost = this.#judgeLoss(address, session, nowMs);
    if (isOver) return this.#forgive(address, prefixes ?? {}, nowMs);
    return isPeer || lost !== 'remake' ? lost : undefined;
  }

  #judgeLoss(address: string, { state, isOverLimit }: ObservedSession, nowMs: number): Remedy | undefined {
    if (state === 'Established') {
      this.#isUp.add(address);
      this.#lostAtMs.delete(address);
      return undefined;
    }
    if (this.#isUp.delete(address)) this.#lostAtMs.set(address, nowMs);
    const lostAt = this.#lostAtMs.get(address);
    if (lostAt === undefined) return undefined;
    const leftMs = lostAt + reasonMs - nowMs;
    // Timers may fire early, and other sessions also cause rounds.
    if (leftMs > 0) return { againMs: Math.ceil(leftMs) };
    this.#lostAtMs.delete(address);
    return this.#isAllowed(address, nowMs) && !isOverLimit ? 'remake' : undefined;
  }

  #isAllowed(address: string, nowMs: number): boolean {
    const allowance = this.#allowances.get(address) ?? new TokenBucket(allowed, nowMs);
    this.#allowances.set(address, allowance);
    return allowance.take(nowMs);
  }

  /** Enables the peer immediately if its limit was changed or removed since it was exceeded. */
  #forgive(address: string, { limit, restartSeconds = 0 }: PrefixLimit, nowMs: number): Remedy {
    const exceeded = this.#overLimit.get(address) ?? { limit, sinceMs: nowMs };
    this.#overLimit.set(address, exceeded);
    const leftMs = exceeded.limit === limit ? exceeded.sinceMs + restartSeconds * 1000 - nowMs : 0;
    if (leftMs > 0) return { againMs: Math.ceil(leftMs) };
    this.#overLimit.delete(address);
    return 'enable';
  }
}
