export interface BucketLimits {
  /** How many may be taken at once. */
  readonly burst: number;
  /** How long it takes until one more may be taken, in milliseconds. */
  readonly refillMs: number;
}

/** Allows a burst, and after it one now and then. The clock is the caller's, in milliseconds. */
export class TokenBucket {
  readonly #limits: BucketLimits;
  #tokens: number;
  #atMs: number;

  /** Full at first. */
  constructor(limits: BucketLimits, nowMs: number) {
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#atMs = nowMs;
  }

  /** Whether one was there to be taken. */
  take(nowMs: number): boolean {
    const { burst, refillMs } = this.#limits;
    this.#tokens = Math.min(burst, this.#tokens + (nowMs - this.#atMs) / refillMs);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** How long after the last `take` the next one can be had, in whole milliseconds. */
  get waitMs(): number {
    return Math.max(0, Math.ceil((1 - this.#tokens) * this.#limits.refillMs));
  }
}
