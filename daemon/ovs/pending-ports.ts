/** Counts the pods whose ports are being prepared for the next transaction, so that it can wait for them. */
import { waitAtMost } from '../../lib/run/wait-until.ts';

export class PendingPorts {
  readonly #listeners = new Set<() => void>();
  #count = 0;

  /** Counts `work` until it ends; before it ends, it must have set the rows that it wants in the transaction. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) for (const listener of this.#listeners) listener();
    }
  }

  /** Resolves when no port is pending, after `longestMs` at the latest. */
  async untilNone(longestMs: number): Promise<void> {
    const subscribe = (check: () => void): (() => void) => {
      this.#listeners.add(check);
      return () => this.#listeners.delete(check);
    };
    await waitAtMost([subscribe], () => this.#count === 0, longestMs);
  }
}
