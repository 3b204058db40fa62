const firstMs = 100;
const lastMs = 8000;

/** Waiting times between attempts: doubled from 0.1 s up to 8 s, each with a jitter of half its length. */
export class Backoff {
  readonly #random: () => number;
  #nextMs = firstMs;

  /** `random` gives numbers of [0, 1). */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  next(): number {
    const fullMs = this.#nextMs;
    this.#nextMs = Math.min(fullMs * 2, lastMs);
    return fullMs / 2 + (fullMs / 2) * this.#random();
  }

  reset(): void {
    this.#nextMs = firstMs;
  }
}
