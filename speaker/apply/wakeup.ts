/** Why the target's loop should turn. */
export type WakeReason = 'plan' | 'session' | 'lost' | 'stop' | 'timeout';

/** Joins wake-ups that come while the loop is busy into one. */
export class Wakeup {
  #pending = new Set<WakeReason>();
  #resolve: (() => void) | undefined;

  wake(reason: WakeReason): void {
    this.#pending.add(reason);
    this.#resolve?.();
  }

  /** All reasons since the last call; waits for one, or for `timeoutMs`. */
  async next(timeoutMs: number): Promise<ReadonlySet<WakeReason>> {
    if (this.#pending.size === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(() => this.wake('timeout'), timeoutMs);
      await promise;
      clearTimeout(timer);
      this.#resolve = undefined;
    }
    const reasons = this.#pending;
    this.#pending = new Set();
    return reasons;
  }
}
