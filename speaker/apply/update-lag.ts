/** Measures how long changes wait for gobgpd's reply; changes that are sent together count as the oldest of them. */
export class UpdateLag {
  readonly #monotonicMs: () => number;
  readonly #onAnswered: (lagMs: number) => void;
  /** The time of the oldest change: of the waiting changes, and of the sent changes. */
  #waitingSinceMs = Infinity;
  #sentSinceMs = Infinity;

  constructor(monotonicMs: () => number, onAnswered: (lagMs: number) => void) {
    this.#monotonicMs = monotonicMs;
    this.#onAnswered = onAnswered;
  }

  /** How long the oldest change has waited so far; 0 if no change waits. */
  get pendingMs(): number {
    const sinceMs = Math.min(this.#waitingSinceMs, this.#sentSinceMs);
    return sinceMs === Infinity ? 0 : this.#monotonicMs() - sinceMs;
  }

  /** A change seen at this time requires other routes. */
  wants(sinceMs: number): void {
    this.#waitingSinceMs = Math.min(this.#waitingSinceMs, sinceMs);
  }

  /** All waiting changes were sent, together with earlier changes that got no reply. */
  sent(): void {
    this.#sentSinceMs = Math.min(this.#sentSinceMs, this.#waitingSinceMs);
    this.#waitingSinceMs = Infinity;
  }

  /** gobgpd has accepted the sent changes. */
  answered(): void {
    const sinceMs = this.#sentSinceMs;
    this.#sentSinceMs = Infinity;
    if (sinceMs !== Infinity) this.#onAnswered(this.#monotonicMs() - sinceMs);
  }
}
