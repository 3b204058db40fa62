/** Learned routes by which the API server was not reached: which of them the node does without, and for how long. */

/** A prefix by one router. */
export function hopKey(prefix: string, nextHop: string): string {
  return `${prefix} ${nextHop}`;
}

export function prefixOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** A router that takes a bad route back and brings it again is believed less each time. */
const hold = { baseMs: 60_000, maxMs: 3_600_000 } as const;
/** For so long after one is let go of its times count. */
const rememberedMs = 3_600_000;

interface Times {
  readonly count: number;
  /** Undefined while it is withheld. */
  readonly releasedMs: number | undefined;
}

export class Withheld {
  /** When each was withheld. */
  readonly #since = new Map<string, number>();
  /** How often each was. */
  readonly #times = new Map<string, Times>();

  get keys(): ReadonlySet<string> {
    return new Set(this.#since.keys());
  }

  get size(): number {
    return this.#since.size;
  }

  /** Keys that are withheld or were, as far as that still counts. */
  get remembered(): number {
    return this.#times.size;
  }

  add(keys: Iterable<string>, nowMs: number): void {
    for (const [key, { releasedMs }] of this.#times)
      if (releasedMs !== undefined && nowMs - releasedMs >= rememberedMs) this.#times.delete(key);
    for (const key of keys) {
      this.#since.set(key, nowMs);
      this.#times.set(key, { count: (this.#times.get(key)?.count ?? 0) + 1, releasedMs: undefined });
    }
  }

  /** Keeps these only, as if the others had never been withheld. */
  narrow(isMeant: (key: string) => boolean): void {
    for (const key of this.#since.keys())
      if (!isMeant(key)) {
        this.#since.delete(key);
        this.#times.delete(key);
      }
  }

  /**
   * Lets go of what no router announces any more, so that it is tried when it comes again.
   * @param told all that routers announce @returns in how many milliseconds to look again; undefined: nothing waits
   */
  forget(told: ReadonlySet<string>, nowMs: number): number | undefined {
    let nextMs: number | undefined;
    for (const [key, since] of this.#since) {
      if (told.has(key)) continue;
      const { count } = this.#times.get(key) ?? { count: 1 };
      const leftMs = since + holdOf(count) - nowMs;
      if (leftMs <= 0) {
        this.#since.delete(key);
        this.#times.set(key, { count, releasedMs: nowMs });
      } else nextMs = Math.min(nextMs ?? leftMs, leftMs);
    }
    return nextMs;
  }
}

function holdOf(times: number): number {
  return Math.min(hold.baseMs * 2 ** (times - 1), hold.maxMs);
}
