/** Learned routes that are withheld because the API server was not reached over them, and for how long. Pure: the time comes by parameter. */

/** Key of a prefix over one router. */
export function hopKey(prefix: string, nextHop: string): string {
  return `${prefix} ${nextHop}`;
}

export function prefixOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

/** If a router withdraws a bad route and announces it again, the route is withheld longer each time. */
const hold = { baseMs: 60_000, maxMs: 3_600_000 } as const;
/** After its release, the count of a route is kept for this time. */
const rememberedMs = 3_600_000;

interface HoldRecord {
  readonly count: number;
  /** Undefined while the route is withheld. */
  readonly releasedMs: number | undefined;
}

export class WithheldRoutes {
  /** Key → time since which the route is withheld. */
  readonly #since = new Map<string, number>();
  /** Key → how often the route was withheld. */
  readonly #records = new Map<string, HoldRecord>();

  get keys(): ReadonlySet<string> {
    return new Set(this.#since.keys());
  }

  get size(): number {
    return this.#since.size;
  }

  /** Number of keys that are withheld, or were and still count. */
  get remembered(): number {
    return this.#records.size;
  }

  add(keys: Iterable<string>, nowMs: number): void {
    for (const [key, { releasedMs }] of this.#records)
      if (releasedMs !== undefined && nowMs - releasedMs >= rememberedMs) this.#records.delete(key);
    for (const key of keys) {
      this.#since.set(key, nowMs);
      this.#records.set(key, { count: (this.#records.get(key)?.count ?? 0) + 1, releasedMs: undefined });
    }
  }

  /** Keeps only these keys, as if the others had never been withheld. */
  narrow(isMeant: (key: string) => boolean): void {
    for (const key of this.#since.keys())
      if (!isMeant(key)) {
        this.#since.delete(key);
        this.#records.delete(key);
      }
  }

  /**
   * Releases routes that no router announces any more, so that they are used when they are announced again.
   * @param announced all keys that routers announce @returns milliseconds until the next call is due; undefined if none is
   */
  forget(announced: ReadonlySet<string>, nowMs: number): number | undefined {
    let nextMs: number | undefined;
    for (const [key, since] of this.#since) {
      if (announced.has(key)) continue;
      const { count } = this.#records.get(key) ?? { count: 1 };
      const leftMs = since + holdOf(count) - nowMs;
      if (leftMs <= 0) {
        this.#since.delete(key);
        this.#records.set(key, { count, releasedMs: nowMs });
      } else nextMs = Math.min(nextMs ?? leftMs, leftMs);
    }
    return nextMs;
  }
}

function holdOf(times: number): number {
  return Math.min(hold.baseMs * 2 ** (times - 1), hold.maxMs);
}
