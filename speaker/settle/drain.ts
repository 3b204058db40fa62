import type { DrainPhase } from '../../lib/bgp/drain.ts';

export interface DrainOptions {
  readonly monotonicMs: () => number;
  /** The phase changed by itself, after the time given. */
  readonly onChange: () => void;
}

/** Leads a node that is drained from one phase to the next. */
export class Drain {
  readonly #options: DrainOptions;
  #phase: DrainPhase = 'None';
  #untilMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DrainOptions) {
    this.#options = options;
  }

  /** An earlier process of this node had withdrawn everything. */
  resume(): void {
    this.#phase = 'Drained';
  }

  /** The phase now. @param isWanted whether the node is to be drained */
  phase(isWanted: boolean, settleSeconds: number): DrainPhase {
    const { monotonicMs, onChange } = this.#options;
    if (!isWanted) {
      this.stop();
      this.#phase = 'None';
    } else if (this.#phase === 'None') {
      this.#phase = 'Leaving';
      this.#untilMs = monotonicMs() + settleSeconds * 1000;
      this.#timer = setTimeout(onChange, settleSeconds * 1000);
    } else if (this.#phase === 'Leaving' && monotonicMs() >= this.#untilMs) {
      this.#phase = 'Drained';
    }
    return this.#phase;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
