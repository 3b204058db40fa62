/**
 * Writes to Kubernetes, one at a time for each object. In: the newest write for a key. Out: its outcome.
 * Callers: the rooms' `status/`, events. Rules: a newer write replaces a write that has not started. Temporary failures
 * (429, 5xx, network, roles being installed) are retried with back-off. A conflict or a deleted object is returned to
 * the caller, because it needs a new plan.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../run/backoff.ts';
import type { BackoffLimits } from '../run/backoff.ts';
import type { Logger } from '../run/logger.ts';
import { TokenBucket } from '../run/token-bucket.ts';
import { isKubeError, KubeApiError } from './errors.ts';

/** The outcome of a write: written, replaced by a newer write, dropped at the end, or refused with this error. */
export type WriteOutcome = 'written' | 'superseded' | 'stopped' | KubeApiError;

export interface WriterTiming extends BackoffLimits {
  /** Token bucket over all keys. */
  readonly qps: number;
  readonly burst: number;
  /** Maximum number of concurrent writes, for different keys. */
  readonly parallel: number;
  readonly random: () => number;
  readonly nowMs: () => number;
}

export interface ObjectWriterOptions {
  readonly signal?: AbortSignal;
  readonly log?: Logger;
  /** Called for every refused write, so that its key can be planned again. */
  readonly onRefused?: (key: string, error: KubeApiError) => void;
  readonly timing?: Partial<WriterTiming>;
}

interface Job {
  readonly write: () => Promise<unknown>;
  readonly settle: (outcome: WriteOutcome) => void;
}

const defaultTiming: WriterTiming = {
  baseMs: 200,
  maxMs: 30_000,
  qps: 200,
  burst: 400,
  parallel: 8,
  random: Math.random,
  nowMs: () => performance.now(),
};

export class ObjectWriter {
  readonly #options: ObjectWriterOptions;
  readonly #timing: WriterTiming;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** The newest write of each key that has not started, in the order in which the keys were enqueued. */
  readonly #waiting = new Map<string, Job>();
  /** Keys with a write in flight or pausing after a failure. */
  readonly #busy = new Set<string>();
  #inFlight = 0;
  readonly #onIdle: (() => void)[] = [];
  readonly #allowance: TokenBucket;
  #refill: NodeJS.Timeout | undefined;

  constructor(options: ObjectWriterOptions = {}) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
    this.#signal =
      options.signal === undefined ? this.#stop.signal : AbortSignal.any([options.signal, this.#stop.signal]);
    const { burst, qps, nowMs } = this.#timing;
    this.#allowance = new TokenBucket({ burst, refillMs: 1000 / qps }, nowMs());
    this.#signal.addEventListener('abort', () => this.#dropWaiting(), { once: true });
  }

  /** Enqueues the newest write for `key` (such as `Subnet/a`). The outcome never rejects: unknown errors of `write` crash the process. */
  enqueue(key: string, write: () => Promise<unknown>): Promise<WriteOutcome> {
    if (this.#signal.aborted) return Promise.resolve('stopped');
    const { promise, resolve } = Promise.withResolvers<WriteOutcome>();
    this.#waiting.get(key)?.settle('superseded');
    this.#waiting.set(key, { write, settle: resolve });
    this.#pump();
    return promise;
  }

  /** Drops the write of `key` if it has not started yet. */
  cancel(key: string): void {
    this.#waiting.get(key)?.settle('superseded');
    this.#waiting.delete(key);
    this.#tellIdle();
  }

  /** Resolves when nothing waits and nothing is in flight. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle.push(resolve);
    });
  }

  /** Drops writes that have not started and waits for writes in flight. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.idle();
  }

  #pump(): void {
    for (const key of this.#waiting.keys()) {
      if (this.#inFlight >= this.#timing.parallel) return;
      if (this.#busy.has(key)) continue;
      if (!this.#takeToken()) return;
      this.#busy.add(key);
      this.#inFlight++;
      // Not caught on purpose: an error of `#work` is a defect.
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const job = this.#waiting.get(key);
      // The write was cancelled or the writer stopped during a pause.
      if (job === undefined) break;
      this.#waiting.delete(key);
      const outcome = await this.#try(key, job, attempt);
      if (outcome !== 'again') {
        job.settle(outcome);
        break;
      }
    }
    this.#busy.delete(key);
    this.#inFlight--;
    this.#pump();
    this.#tellIdle();
  }

  /** One attempt. After a temporary failure the job waits again, unless a newer job has replaced it. */
  async #try(key: string, job: Job, attempt: number): Promise<WriteOutcome | 'again'> {
    try {
      await job.write();
      return 'written';
    } catch (error) {
      if (this.#signal.aborted) return 'stopped';
      if (!isKubeError(error)) throw error;
      if (error instanceof KubeApiError && error.retry === 'never') {
        this.#options.onRefused?.(key, error);
        return error;
      }
      const retryAfterMs = error instanceof KubeApiError ? (error.retryAfterMs ?? 0) : 0;
      const delayMs = Math.max(backoffMs(attempt, this.#timing, this.#timing.random), retryAfterMs);
      this.#options.log?.warn({ object: key, attempt, delayMs, error: error.message }, 'write failed, trying again');
      if (this.#waiting.has(key)) job.settle('superseded');
      else this.#waiting.set(key, job);
      await this.#pause(delayMs);
      return 'again';
    }
  }

  /** Other keys continue during the pause: an object whose writes fail for long must not delay the others. */
  async #pause(delayMs: number): Promise<void> {
    this.#inFlight--;
    this.#pump();
    // Only the end of the writer ends the pause early.
    await sleep(delayMs, undefined, { signal: this.#signal }).catch(() => undefined);
    this.#inFlight++;
  }

  #takeToken(): boolean {
    if (this.#allowance.take(this.#timing.nowMs())) return true;
    this.#refill ??= setTimeout(() => {
      this.#refill = undefined;
      this.#pump();
    }, this.#allowance.waitMs);
    return false;
  }

  #dropWaiting(): void {
    for (const job of this.#waiting.values()) job.settle('stopped');
    this.#waiting.clear();
    clearTimeout(this.#refill);
    this.#tellIdle();
  }

  #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#busy.size === 0;
  }

  #tellIdle(): void {
    if (this.#isIdle()) for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
