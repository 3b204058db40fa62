/**
 * Who is to have the highest priority on a transit router port: who holds it, but not back and forth. A chassis whose
 * datapath died may go on claiming the port until it hears of the new order; following each claim would keep the two
 * of them fighting. So whoever was promoted stays promoted for a while; OVN itself moves the port if it has to.
 */
const holdMs = 10_000;

export class Promotions {
  readonly #now: () => number;
  readonly #held = new Map<string, { readonly chassis: string; readonly sinceMs: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The chassis to promote, and after how many milliseconds to ask again where that is not the holder. */
  next(network: string, holder: string): { readonly chassis: string; readonly againMs: number | undefined } {
    const held = this.#held.get(network);
    if (held === undefined) {
      // Not a change that was seen: the first one that is may be followed at once.
      if (holder !== '') this.#held.set(network, { chassis: holder, sinceMs: -Infinity });
      return { chassis: holder, againMs: undefined };
    }
    if (holder === held.chassis || holder === '') return { chassis: held.chassis, againMs: undefined };
    const ageMs = this.#now() - held.sinceMs;
    if (ageMs < holdMs) return { chassis: held.chassis, againMs: holdMs - ageMs };
    this.#held.set(network, { chassis: holder, sinceMs: this.#now() });
    return { chassis: holder, againMs: undefined };
  }

  clear(): void {
    this.#held.clear();
  }
}
