/** Which dropped packets become events. Their sender decides how many there are, so that events are limited by pair of pod and peer, by pod, and in all. */
import { TokenBucket, type BucketLimits } from '../../lib/run/token-bucket.ts';

export interface DropLimitsOptions {
  /** Of one pod and one peer. */
  readonly pair: BucketLimits;
  readonly pod: BucketLimits;
  readonly all: BucketLimits;
  /** Pairs, and pods, that are remembered. */
  readonly remembered: number;
}

const defaults: DropLimitsOptions = {
  pair: { burst: 2, refillMs: 60_000 },
  pod: { burst: 5, refillMs: 60_000 },
  all: { burst: 20, refillMs: 20_000 },
  remembered: 1024,
};

export class DropLimits {
  readonly #options: DropLimitsOptions;
  readonly #pairs = new Map<string, TokenBucket>();
  readonly #pods = new Map<string, TokenBucket>();
  readonly #all: TokenBucket;

  constructor(nowMs: number, options: DropLimitsOptions = defaults) {
    this.#options = options;
    this.#all = new TokenBucket(options.all, nowMs);
  }

  /** Whether a drop becomes an event. One that is refused takes nothing from wider limits. */
  take(pod: string, peer: string, nowMs: number): boolean {
    const { pair, pod: ofPod } = this.#options;
    return (
      this.#bucket(this.#pairs, `${pod} ${peer}`, pair, nowMs).take(nowMs) &&
      this.#bucket(this.#pods, pod, ofPod, nowMs).take(nowMs) &&
      this.#all.take(nowMs)
    );
  }

  /** The one that was used longest ago is forgotten: a sender that invents peers gains nothing, because its pod has one bucket. */
  #bucket(map: Map<string, TokenBucket>, key: string, limits: BucketLimits, nowMs: number): TokenBucket {
    const bucket = map.get(key) ?? new TokenBucket(limits, nowMs);
    map.delete(key);
    map.set(key, bucket);
    if (map.size > this.#options.remembered) {
      const oldest = map.keys().next();
      if (!oldest.done) map.delete(oldest.value);
    }
    return bucket;
  }
}
