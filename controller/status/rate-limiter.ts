/** A burst of pods must not spend the write budget on the counts of its subnets. */
const intervalMs = 500;

/** Limits how often one object is written while its counts keep changing. */
export class RateLimiter {
  readonly #nowMs: () => number;
  readonly #writtenMs = new Map<string, number>();
  readonly #later = new Map<string, NodeJS.Timeout>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** To be called at each write. */
  written(name: string): void {
    this.#writtenMs.set(name, this.#nowMs());
  }

  /** Whether the next write must wait; `again` is then called once it may be made. */
  isTooEarly(name: string, again: () => void): boolean {
    const waitMs = (this.#writtenMs.get(name) ?? 0) + intervalMs - this.#nowMs();
    if (waitMs <= 0) return false;
    if (!this.#later.has(name)) {
      const timer = setTimeout(() => {
        this.#later.delete(name);
        again();
      }, waitMs);
      this.#later.set(name, timer);
    }
    return true;
  }

  forget(name: string): void {
    this.#writtenMs.delete(name);
  }

  close(): void {
    for (const timer of this.#later.values()) clearTimeout(timer);
  }
}
