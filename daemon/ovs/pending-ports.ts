/** How many pods are just being made ready for the next transaction, so that it can wait for them. */
import { untilOrLate } from '../../lib/run/wait-until.ts';

export class Preparations {
  readonly #listeners = new Set<() => void>();
  #count = 0;

  /** Counts `work` until it ends; what it wants of the transaction it must have said by then. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) for (const listener of this.#listeners) listener();
    }
  }

  /** Resolves when there is none, after `longestMs` at the latest. */
  async untilNone(longestMs: number): Promise<void> {
    const subscribe = (check: () => void): (() => void) => {
      this.#listeners.add(check);
      return () => this.#listeners.delete(check);
    };
    await untilOrLate([subscribe], () => this.#count === 0, longestMs);
  }
}
