/** How long changes wait for gobgpd's answer; those that are sent together count as the oldest of them. */
export class UpdateLag {
  readonly #monotonicMs: () => number;
  readonly #onAnswered: (lagMs: number) => void;
  /** When the oldest change was seen, of those that wait and of those that are on their way. */
  #waitingSinceMs = Infinity;
  #sentSinceMs = Infinity;

  constructor(monotonicMs: () => number, onAnswered: (lagMs: number) => void) {
    this.#monotonicMs = monotonicMs;
    this.#onAnswered = onAnswered;
  }

  /** How long the oldest change has waited by now; 0 where none does. */
  get pendingMs(): number {
    const sinceMs = Math.min(this.#waitingSinceMs, this.#sentSinceMs);
    return sinceMs === Infinity ? 0 : this.#monotonicMs() - sinceMs;
  }

  /** Routes are to change, because of what was seen then. */
  wants(sinceMs: number): void {
    this.#waitingSinceMs = Math.min(this.#waitingSinceMs, sinceMs);
  }

  /** All that waits is on its way; what was sent before without an answer goes with it once more. */
  sent(): void {
    this.#sentSinceMs = Math.min(this.#sentSinceMs, this.#waitingSinceMs);
    this.#waitingSinceMs = Infinity;
  }

  /** gobgpd has taken what was sent. */
  answered(): void {
    const sinceMs = this.#sentSinceMs;
    this.#sentSinceMs = Infinity;
    if (sinceMs !== Infinity) this.#onAnswered(this.#monotonicMs() - sinceMs);
  }
}
