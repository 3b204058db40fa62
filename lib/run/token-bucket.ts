export interface BucketLimits {
  /** Number of tokens that may be taken at once. */
  readonly burst: number;
  /** Time until the next token is available, in milliseconds. */
  readonly refillMs: number;
}

/** Allows a burst, then one token per `refillMs`. The caller supplies the clock, in milliseconds. */
export class TokenBucket {
  readonly #limits: BucketLimits;
  #tokens: number;
  #atMs: number;

  /** The bucket is full at first. */
  constructor(limits: BucketLimits, nowMs: number) {
    this.#limits = limits;
    this.#tokens = limits.burst;
    this.#atMs = nowMs;
  }

  /** Takes a token; false if none is available. */
  take(nowMs: number): boolean {
    const { burst, refillMs } = this.#limits;
    this.#tokens = Math.min(burst, this.#tokens + (nowMs - this.#atMs) / refillMs);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Time from the last `take` until the next token is available, in whole milliseconds. */
  get waitMs(): number {
    return Math.max(0, Math.ceil((1 - this.#tokens) * this.#limits.refillMs));
  }
}
