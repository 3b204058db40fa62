/** Measures how long changes wait for gobgpd's answer; changes that are sent together count as the oldest of them. */
export class UpdateLag {
  readonly #monotonicMs: () => number;
  readonly #onAnswered: (lagMs: number) => void;
  /** When the oldest change was seen: of those that wait, and of those that were sent. */
  #waitingSinceMs = Infinity;
  #sentSinceMs = Infinity;

  constructor(monotonicMs: () => number, onAnswered: (lagMs: number) => void) {
    this.#monotonicMs = monotonicMs;
    this.#onAnswered = onAnswered;
  }

  /** How long the oldest change has waited so far; 0 if none waits. */
  get pendingMs(): number {
    const sinceMs = Math.min(this.#waitingSinceMs, this.#sentSinceMs);
    return sinceMs === Infinity ? 0 : this.#monotonicMs() - sinceMs;
  }

  /** Routes have to change because of a change seen at this time. */
  wants(sinceMs: number): void {
    this.#waitingSinceMs = Math.min(this.#waitingSinceMs, sinceMs);
  }

  /** All waiting changes were sent; changes that were sent before without an answer are sent again with them. */
  sent(): void {
    this.#sentSinceMs = Math.min(this.#sentSinceMs, this.#waitingSinceMs);
    this.#waitingSinceMs = Infinity;
  }

  /** gobgpd has accepted what was sent. */
  answered(): void {
    const sinceMs = this.#sentSinceMs;
    this.#sentSinceMs = Infinity;
    if (sinceMs !== Infinity) this.#onAnswered(this.#monotonicMs() - sinceMs);
  }
}
