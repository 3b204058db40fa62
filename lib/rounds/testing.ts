/** Timers of a test, which fire only by `pass`. */
import type { Timers } from './timers.ts';

export class TestTimers implements Timers {
  #nowMs = 0;
  readonly #pending = new Set<{ readonly dueMs: number; readonly callback: () => void }>();

  readonly nowMs = (): number => this.#nowMs;

  readonly after = (delayMs: number, callback: () => void): (() => void) => {
    const timer = { dueMs: this.#nowMs + delayMs, callback };
    this.#pending.add(timer);
    return () => this.#pending.delete(timer);
  };

  /** Advances the time, and fires the timers that become due. */
  pass(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (let next = this.#next(); next !== undefined && next.dueMs <= endMs; next = this.#next()) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      this.#pending.delete(next);
      next.callback();
    }
    this.#nowMs = endMs;
  }

  #next() {
    return [...this.#pending].sort((a, b) => a.dueMs - b.dueMs)[0];
  }
}
