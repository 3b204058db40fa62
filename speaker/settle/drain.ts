import type { DrainPhase } from '../../lib/bgp/drain.ts';

/** Moves a drained node from phase to phase as time passes. */
export class Drain {
  #phase: DrainPhase = 'None';
  #untilMs = Infinity;

  /** Resumes the drain of an earlier process of this node that had withdrawn everything. */
  resume(): void {
    this.#phase = 'Drained';
  }

  /** The present phase. @param isWanted whether the node is to be drained @param nowMs monotonic time */
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

  /** Time until the phase changes by itself. */
  leftMs(nowMs: number): number {
    return this.#untilMs - nowMs;
  }
}
