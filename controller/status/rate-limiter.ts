/** Counts alone are written no more often: a burst of pods must not spend its writes on them. */
const intervalMs = 500;

/** Spaces the writes of objects whose counts keep changing. */
export class Pace {
  readonly #nowMs: () => number;
  readonly #writtenMs = new Map<string, number>();
  readonly #later = new Map<string, NodeJS.Timeout>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** To be called with each write. */
  written(name: string): void {
    this.#writtenMs.set(name, this.#nowMs());
  }

  /** Whether it is too early to write again; `again` is then called when it no longer is. */
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
