/**
 * How far northd and the ovn-controllers of gateways lag behind. In: the number that was requested (`NB_Global.nb_cfg`,
 * as `ovn-nbctl --wait=hv sync` does), and the numbers that each has applied. Out: which of them is behind, and since
 * when. Kept between looks, because a number that was not applied is followed by newer ones.
 */

/** Unix milliseconds since which each part of OVN has stalled; absent if it has not. */
export interface Stalled {
  readonly northbound: number | undefined;
  readonly southbound: number | undefined;
  readonly northd: number | undefined;
  /** By node. */
  readonly controllers: ReadonlyMap<string, number>;
}

/** Whether both databases and northd apply writes. */
export function isOvnFollowing({ northbound, southbound, northd }: Stalled): boolean {
  return northbound === undefined && southbound === undefined && northd === undefined;
}

/** The number that a part of OVN has yet to apply. */
interface Lag {
  readonly number: number;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

export interface AppliedNumbers {
  /** The number in the database. */
  readonly wanted: number;
  /** Applied by northd. */
  readonly northd: number;
  /** Applied by each ovn-controller; a chassis that is absent cannot follow. */
  readonly chassis: ReadonlyMap<string, number>;
}

/**
 * A database that has not answered for this long is silent. It is less than the patience with northd, which waits for
 * the database too and must not be blamed for it.
 */
export const databasePatienceMs = 3000;
/** Longer than the usual time of northd times this is too long. */
const patienceFactor = 3;
const leastPatienceMs = { northd: 5000, chassis: 4000 };
const longestPatienceMs = 20_000;
/** One stall does not make a northd slow: the quickest of several answers counts, and one is assumed at the start. */
const answersKept = 3;
const assumedMs = 100;

export class OvnLag {
  /** The request that northd has not answered. */
  #asked: Lag | undefined;
  /** The number that northd has passed on to the southbound database. */
  #passed = 0;
  #tooksMs: readonly number[] = [assumedMs];
  readonly #lags = new Map<string, Lag>();

  /** Milliseconds that northd takes to answer. */
  get tookMs(): number {
    return Math.min(...this.#tooksMs);
  }

  /** A request is open: another one would be of no use. */
  get isAwaited(): boolean {
    return this.#asked !== undefined;
  }

  asked(number: number, nowMs: number): void {
    this.#asked ??= { number, sinceMs: nowMs };
  }

  /** `gateways`: chassis that are expected to follow. */
  see({ wanted, northd, chassis }: AppliedNumbers, gateways: Iterable<string>, nowMs: number): void {
    // The database was replaced: no program will reach the number that was requested in the one before.
    if (wanted < Math.max(this.#passed, this.#asked?.number ?? 0)) this.reset();
    if (this.#asked !== undefined && northd >= this.#asked.number) {
      this.#tooksMs = [...this.#tooksMs, nowMs - this.#asked.sinceMs].slice(-answersKept);
      this.#passed = this.#asked.number;
      this.#asked = undefined;
    }
    const watched = new Set(gateways);
    for (const name of this.#lags.keys()) if (!watched.has(name)) this.#lags.delete(name);
    for (const name of watched) this.#measure(name, chassis.get(name), nowMs);
  }

  /** Since when northd is behind for too long. */
  northdBehindMs(nowMs: number): number | undefined {
    return this.#overdue(this.#asked, leastPatienceMs.northd, nowMs);
  }

  /** Chassis that are behind for too long → since when. */
  chassisBehindMs(nowMs: number): ReadonlyMap<string, number> {
    const overdue = [...this.#lags].flatMap(([name, lag]) => {
      const sinceMs = this.#overdue(lag, leastPatienceMs.chassis, nowMs);
      return sinceMs === undefined ? [] : [[name, sinceMs] as const];
    });
    return new Map(overdue);
  }

  /** Discards earlier numbers. */
  reset(): void {
    this.#asked = undefined;
    this.#passed = 0;
    this.#lags.clear();
  }

  #measure(name: string, taken: number | undefined, nowMs: number): void {
    const lag = this.#lags.get(name);
    if (taken === undefined || (lag !== undefined && taken >= lag.number)) this.#lags.delete(name);
    if (taken === undefined || taken >= this.#passed || this.#lags.has(name)) return;
    this.#lags.set(name, { number: this.#passed, sinceMs: nowMs });
  }

  #overdue(lag: Lag | undefined, leastMs: number, nowMs: number): number | undefined {
    const usualMs = Math.min(patienceFactor * this.tookMs, longestPatienceMs);
    const patienceMs = Math.max(leastMs, usualMs);
    return lag !== undefined && nowMs - lag.sinceMs >= patienceMs ? lag.sinceMs : undefined;
  }
}
