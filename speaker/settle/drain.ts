import type { DrainPhase } from '../../lib/bgp/drain.ts';

/** Leads a node that is drained from one phase to the next, as time passes. */
export class Drain {
  #phase: DrainPhase = 'None';
  #untilMs = Infinity;

  /** An earlier process of this node had withdrawn everything. */
  resume(): void {
    this.#phase = 'Drained';
  }

  /** The phase now. @param isWanted whether the node is to be drained @param nowMs by the monotonic clock */
  phase(isWanted: boolean, settleSeconds: number, nowMs: number): DrainPhase {
    if (!isWanted) {
      this.#untilMs = Infinity;
      this.#phase = 'None';
    } else if (this.#phase === 'None') {
      this.#phase = 'Leaving';
      this.#untilMs = nowMs + settleSeconds * 1000;
    } else if (this.#phase === 'Leaving' && nowMs >= this.#untilMs) {
      this.#untilMs = Infinity;
      this.#phase = 'Drained';
    }
    return this.#phase;
  }

  /** In how long the phase changes by itself. */
  leftMs(nowMs: number): number {
    return this.#untilMs - nowMs;
  }
}
