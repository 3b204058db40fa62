// Brings back sessions that gobgpd would leave down too long. After the end of a session gobgpd waits five seconds before it connects or accepts, which no
// setting changes; a peer that is deleted and added again waits two at most. A session that exceeded its limit of prefixes stays down for good.
import { TokenBucket } from '../../lib/run/token-bucket.ts';
import type { ObservedSession } from '../model/observed.ts';

/** gobgpd may learn the reason of a loss a little later than the loss, and forgets it with the peer. */
const reasonMs = 50;
/** A neighbour that ends sessions again and again is left to gobgpd's own timing once this is used up. */
const allowed = { burst: 20, refillMs: 10_000 } as const;

/** How many prefixes a peer may send, and after how long it gets another chance. */
export interface PrefixLimit {
  readonly limit?: number | undefined;
  readonly restartSeconds?: number | undefined;
}

export type Remedy =
  /** Delete the peer and add it again. */
  | 'remake'
  /** Enable the peer that gobgpd disabled. */
  | 'enable'
  /** Look at the session again after this time. */
  | { readonly againMs: number };

export class Revival {
  readonly #isUp = new Set<string>();
  readonly #allowances = new Map<string, TokenBucket>();
  /** When each session that is to be brought back was lost. */
  readonly #lostAtMs = new Map<string, number>();
  readonly #overLimit = new Map<string, { readonly limit: number | undefined; readonly sinceMs: number }>();

  /**
   * What brings the session back; undefined: nothing has to.
   * @param isPeer whether gobgpd has the peer as this node wants it
   * @param nowMs by the monotonic clock
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
    // Timers may be early, and other sessions wake too.
    if (leftMs > 0) return { againMs: Math.ceil(leftMs) };
    this.#lostAtMs.delete(address);
    return this.#isAllowed(address, nowMs) && !isOverLimit ? 'remake' : undefined;
  }

  #isAllowed(address: string, nowMs: number): boolean {
    const allowance = this.#allowances.get(address) ?? new TokenBucket(allowed, nowMs);
    this.#allowances.set(address, allowance);
    return allowance.take(nowMs);
  }

  /** Enables the peer at once if its limit was changed or removed since it was exceeded. */
  #forgive(address: string, { limit, restartSeconds = 0 }: PrefixLimit, nowMs: number): Remedy {
    const exceeded = this.#overLimit.get(address) ?? { limit, sinceMs: nowMs };
    this.#overLimit.set(address, exceeded);
    const leftMs = exceeded.limit === limit ? exceeded.sinceMs + restartSeconds * 1000 - nowMs : 0;
    if (leftMs > 0) return { againMs: Math.ceil(leftMs) };
    this.#overLimit.delete(address);
    return 'enable';
  }
}
