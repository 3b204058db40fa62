// Sessions that gobgpd would leave down for longer than need be. After a session it waits five seconds before it dials or answers, which no
// setting changes; a peer that is made anew waits two at most. A session that exceeded its limit of prefixes stays down for good.
import type { GobgpClient, PeerConfig } from 'gobgp-js';
import { TokenBucket } from '../../lib/run/token-bucket.ts';
import type { SpeakerPlan } from '../plan/plan.ts';
import type { ObservedSession } from '../model/observed.ts';

/** The reason of a loss may be known a little later than the loss, and goes with the peer. */
const reasonMs = 50;
/** A neighbour that ends sessions again and again is left to gobgpd's own pace after so many; one more may be every so often. */
const allowed = { burst: 20, refillMs: 10_000 } as const;

export class Revival {
  readonly #client: GobgpClient;
  readonly #monotonicMs: () => number;
  /** Something is to be looked at again, after this time. */
  readonly #wakeAfter: (delayMs: number) => void;
  readonly #isUp = new Set<string>();
  readonly #allowances = new Map<string, TokenBucket>();
  /** Sessions to bring back, and when they were lost. */
  readonly #lostAtMs = new Map<string, number>();
  readonly #overLimit = new Map<string, OverLimit>();

  constructor(client: GobgpClient, monotonicMs: () => number, wakeAfter: (delayMs: number) => void) {
    this.#client = client;
    this.#monotonicMs = monotonicMs;
    this.#wakeAfter = wakeAfter;
  }

  /**
   * Makes peers anew that just lost their session, and enables those that paid for their prefixes.
   * @param configs of gobgpd's peers by address
   * @throws GobgpUnreachable | GobgpRejected
   */
  async look(
    plan: SpeakerPlan,
    sessions: ReadonlyMap<string, ObservedSession>,
    configs: ReadonlyMap<string, PeerConfig>,
  ): Promise<void> {
    for (const [address, session] of sessions) {
      const config = configs.get(address);
      if (config && session.isOverLimit) await this.#forgive(plan, address);
      else this.#overLimit.delete(address);
      const isDue = this.#isDue(address, session);
      if (!config || !isDue || session.isOverLimit) continue;
      await this.#client.deletePeer(address);
      await this.#client.addPeer(config);
    }
  }

  /** Whether the session was lost, and long enough ago. */
  #isDue(address: string, { state }: ObservedSession): boolean {
    const nowMs = this.#monotonicMs();
    if (state === 'Established') {
      this.#isUp.add(address);
      this.#lostAtMs.delete(address);
      return false;
    }
    if (this.#isUp.delete(address)) {
      this.#lostAtMs.set(address, nowMs);
      this.#wakeAfter(reasonMs);
      return false;
    }
    const lostAt = this.#lostAtMs.get(address);
    if (lostAt === undefined) return false;
    const leftMs = lostAt + reasonMs - nowMs;
    // Timers may be early, and other sessions wake too.
    if (leftMs > 0) {
      this.#wakeAfter(Math.ceil(leftMs));
      return false;
    }
    this.#lostAtMs.delete(address);
    return this.#isAllowed(address, nowMs);
  }

  #isAllowed(address: string, nowMs: number): boolean {
    const allowance = this.#allowances.get(address) ?? new TokenBucket(allowed, nowMs);
    this.#allowances.set(address, allowance);
    return allowance.take(nowMs);
  }

  /** At once where the limit is another than the one that was exceeded, or there is none any more. */
  async #forgive(plan: SpeakerPlan, address: string): Promise<void> {
    const nowMs = this.#monotonicMs();
    const { limit, restartSeconds = 0 } = plan.peers.get(address)?.maximumPrefixes ?? {};
    const exceeded = this.#overLimit.get(address) ?? { limit, sinceMs: nowMs };
    this.#overLimit.set(address, exceeded);
    const leftMs = exceeded.limit === limit ? exceeded.sinceMs + restartSeconds * 1000 - nowMs : 0;
    if (leftMs > 0) {
      this.#wakeAfter(Math.ceil(leftMs));
      return;
    }
    this.#overLimit.delete(address);
    await this.#client.enablePeer(address);
  }
}

/** A limit that was exceeded, and when. */
interface OverLimit {
  readonly limit: number | undefined;
  readonly sinceMs: number;
}
