/**
 * The round engine of every room: gathers changes into rounds and runs one round at a time.
 *
 * In: requests with their dirty keys, urgent requests, and wake-ups. Out: calls of `run`, each with the keys that became
 * dirty since the round before. Every request belongs to a revision, the number of the round that includes it.
 * `untilApplied(revision)` resolves once that round and its writes are done; later requests do not delay it. An error of
 * `run` ends the engine: unknown errors end the process, whose next start is a full round.
 */
import { realTimers, type Timers } from './timers.ts';

export interface Round<Key> {
  readonly revision: number;
  readonly keys: ReadonlySet<Key>;
  /** How long the oldest request of this round has waited. */
  readonly waitedMs: number;
}

export interface RoundEngineOptions<Key> {
  /** Runs one round; false: nothing was applied, and its keys are dirty again for the next requested round. */
  readonly run: (round: Round<Key>) => boolean | void | Promise<boolean | void>;
  /** How long requests are gathered, from the first request on. Default 0: until the next turn of the event loop. */
  readonly gatherMs?: number;
  /** Minimum time between the starts of two rounds; may be a function of the duration of the former round. Default 0. */
  readonly spacingMs?: number | ((tookMs: number) => number);
  /** Called after a round: resolves when the round's writes are done. The next round does not wait for it. Default: at once. */
  readonly untilWritten?: () => Promise<unknown>;
  readonly timers?: Timers;
}

export class RoundEngine<Key = never> {
  readonly #options: RoundEngineOptions<Key>;
  readonly #timers: Timers;
  #keys = new Set<Key>();
  /** Time of the oldest request that no round has taken. */
  #requestedMs: number | undefined;
  #isUrgent = false;
  #isSoon = false;
  /** Key → when it becomes dirty by itself; undefined: a round without keys. */
  readonly #wakeUps = new Map<Key | undefined, number>();
  #cancelTimer: (() => void) | undefined;
  #state: 'waiting' | 'idle' | 'running' | 'closed' = 'waiting';
  #startedMs = Number.NEGATIVE_INFINITY;
  #endedMs = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  /** Revision of the last round that began. */
  #begun = 0;
  #applied = 0;
  #waiters: { readonly revision: number; readonly resolve: () => void }[] = [];
  #ended = Promise.resolve();
  #onEnd: ((error?: unknown) => void) | undefined;

  constructor(options: RoundEngineOptions<Key>) {
    this.#options = options;
    this.#timers = options.timers ?? realTimers;
  }

  /** Revision of the latest request. */
  get revision(): number {
    return this.#requestedMs === undefined ? this.#begun : this.#begun + 1;
  }

  /** Marks these keys dirty. Requests before the start are kept for the first round. @returns the revision of the coming round */
  request(...keys: readonly Key[]): number {
    for (const key of keys) this.#keys.add(key);
    this.#requestedMs ??= this.#timers.nowMs();
    this.#arm();
    return this.revision;
  }

  /** Like `request`, at the next turn of the event loop: without gathering or spacing. */
  urgent(...keys: readonly Key[]): number {
    this.#isUrgent = true;
    return this.request(...keys);
  }

  /** Like `request`, without gathering. */
  soon(...keys: readonly Key[]): number {
    this.#isSoon = true;
    return this.request(...keys);
  }

  /**
   * Makes the key dirty after the delay and runs a round then; of two delays for one key the earlier counts. A round that takes
   * the key before, or any round where no key is given, cancels the wake-up.
   */
  wakeAfter(delayMs: number, key?: Key): void {
    if (delayMs === Infinity) return;
    const dueMs = this.#timers.nowMs() + Math.max(0, delayMs);
    this.#wakeUps.set(key, Math.min(dueMs, this.#wakeUps.get(key) ?? Infinity));
    this.#arm();
  }

  /** Runs the first round at once, even without a request; later requests start rounds. */
  start(): void {
    if (this.#state !== 'waiting') return;
    this.#requestedMs ??= this.#timers.nowMs();
    this.#begin();
  }

  /** Runs rounds from `start` until the signal aborts, and the last one to its end. @throws what a round throws */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return this.close();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#onEnd = (error) => (error === undefined ? resolve() : reject(error));
    const close = (): void => void this.close().then(resolve);
    signal.addEventListener('abort', close, { once: true });
    try {
      this.start();
      await promise;
    } finally {
      signal.removeEventListener('abort', close);
    }
  }

  /** Prevents further rounds; resolves when the running round has ended. */
  close(): Promise<void> {
    this.#state = 'closed';
    this.#cancelTimer?.();
    return this.#ended;
  }

  /** Resolves when all requests up to this revision (default: the latest) are applied. Never resolves after `close`. */
  untilApplied(revision = this.revision): Promise<void> {
    if (revision <= this.#applied) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ revision, resolve }));
  }

  /** Sets the timer of the next round. */
  #arm(): void {
    if (this.#state !== 'idle') return;
    this.#cancelTimer?.();
    const dueMs = Math.min(this.#requestDueMs(), ...this.#wakeUps.values());
    if (dueMs === Infinity) return;
    this.#cancelTimer = this.#timers.after(Math.max(0, dueMs - this.#timers.nowMs()), () => this.#onTimer());
  }

  #requestDueMs(): number {
    if (this.#requestedMs === undefined) return Infinity;
    if (this.#isUrgent) return 0;
    const { spacingMs = 0 } = this.#options;
    const gatherMs = this.#isSoon ? 0 : (this.#options.gatherMs ?? 0);
    const spacing = typeof spacingMs === 'number' ? spacingMs : spacingMs(this.#tookMs);
    // Requests during a round, which the round may have caused, are gathered from the end of the round on.
    return Math.max(Math.max(this.#requestedMs, this.#endedMs) + gatherMs, this.#startedMs + spacing);
  }

  #onTimer(): void {
    this.#cancelTimer = undefined;
    const nowMs = this.#timers.nowMs();
    for (const [key, dueMs] of this.#wakeUps) {
      if (dueMs > nowMs) continue;
      if (key !== undefined) this.#keys.add(key);
      this.#requestedMs ??= dueMs;
      this.#isUrgent = true;
    }
    // Timers may be early.
    if (this.#requestDueMs() > nowMs) this.#arm();
    else this.#begin();
  }

  #begin(): void {
    const nowMs = this.#timers.nowMs();
    const round = { revision: this.#begun + 1, keys: this.#keys, waitedMs: nowMs - (this.#requestedMs ?? nowMs) };
    this.#state = 'running';
    this.#begun = round.revision;
    this.#keys = new Set();
    this.#requestedMs = undefined;
    this.#isUrgent = false;
    this.#isSoon = false;
    this.#startedMs = nowMs;
    for (const key of [undefined, ...round.keys]) this.#wakeUps.delete(key);
    let result;
    try {
      result = this.#options.run(round);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (!(result instanceof Promise)) {
      this.#end(round, result);
      return;
    }
    this.#ended = result.then(
      (isApplied) => this.#end(round, isApplied),
      (error: unknown) => this.#fail(error),
    );
  }

  #end(round: Round<Key>, isApplied: boolean | void): void {
    this.#endedMs = this.#timers.nowMs();
    this.#tookMs = this.#endedMs - this.#startedMs;
    if (isApplied === false) for (const key of round.keys) this.#keys.add(key);
    else void this.#finish(round.revision);
    if (this.#state === 'closed') return;
    this.#state = 'idle';
    this.#arm();
  }

  async #finish(revision: number): Promise<void> {
    await this.#options.untilWritten?.();
    this.#applied = Math.max(this.#applied, revision);
    const done = this.#waiters.filter((waiter) => waiter.revision <= this.#applied);
    this.#waiters = this.#waiters.filter((waiter) => waiter.revision > this.#applied);
    for (const { resolve } of done) resolve();
  }

  #fail(error: unknown): void {
    this.#state = 'closed';
    if (this.#onEnd === undefined) throw error;
    this.#onEnd(error);
  }
}
