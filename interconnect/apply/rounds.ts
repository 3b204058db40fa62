/**
 * When rounds run. In: requests, and the time when history asks for a round though nothing happens. Out: calls of `run`. A
 * burst of changes is one round; a tunnel that changed is answered at once.
 */

/** A burst of changes is one round. */
const gatherMs = 20;
/** The longest a timer can wait. */
const longestMs = 2 ** 31 - 1;

export interface RoundsOptions {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Returns when the next round is due though nothing happens; Infinity for never. */
  readonly run: () => number;
  readonly signal: AbortSignal;
}

export class Rounds {
  readonly #options: RoundsOptions;
  #timer: NodeJS.Timeout | undefined;
  #urgent: NodeJS.Immediate | undefined;
  #wake: NodeJS.Timeout | undefined;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  request(): void {
    if (this.#options.signal.aborted) return;
    this.#timer ??= setTimeout(() => this.#run(), gatherMs);
  }

  requestNow(): void {
    this.#urgent ??= setImmediate(() => {
      this.#urgent = undefined;
      this.#run();
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#wake);
    clearImmediate(this.#urgent);
  }

  #run(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#options.signal.aborted) return;
    this.#wakeAt(this.#options.run());
  }

  #wakeAt(wakeMs: number): void {
    const { now, signal } = this.#options;
    clearTimeout(this.#wake);
    if (wakeMs === Infinity || signal.aborted) return;
    const delayMs = Math.min(Math.max(wakeMs - now(), 1), longestMs);
    this.#wake = setTimeout(() => this.request(), delayMs);
  }
}
