/**
 * Who of this cluster's OVN follows: northd and the ovn-controllers of gateways. In: the number that was asked for
 * (`NB_Global.nb_cfg`, as `ovn-nbctl --wait=hv sync` asks), and the numbers that each has taken up. Out: who is behind, since
 * when. Kept between looks, because a number that one has not taken up is followed by newer ones.
 */

/** Unix milliseconds since which each stands still; absent: it does not. */
export interface Stalled {
  readonly northbound: number | undefined;
  readonly southbound: number | undefined;
  readonly northd: number | undefined;
  /** By node. */
  readonly controllers: ReadonlyMap<string, number>;
}

/** Whether what is written gets to the nodes, as far as databases and northd go. */
export function isTakenUp({ northbound, southbound, northd }: Stalled): boolean {
  return northbound === undefined && southbound === undefined && northd === undefined;
}

/** Where somebody fell behind, and is measured until it gets there. */
interface Debt {
  readonly number: number;
  /** Unix milliseconds. */
  readonly sinceMs: number;
}

export interface Taken {
  /** The number in the database now. */
  readonly wanted: number;
  /** By northd, of what was asked. */
  readonly northd: number;
  /** By each ovn-controller, of what northd passed on; a chassis that is not there is none that could follow. */
  readonly chassis: ReadonlyMap<string, number>;
}

/** A database that has not answered for so long is silent: sooner than northd, which waits for it too, is taken for stuck. */
export const databasePatienceMs = 3000;
/** Usual time from a question to northd's answer, times this, is too long. */
const patienceFactor = 3;
const leastPatienceMs = { northd: 5000, chassis: 4000 };
const longestPatienceMs = 20_000;
/** What stood still for once is not slow: of several answers the quickest counts, and at the start one is assumed. */
const answersKept = 3;
const assumedMs = 100;

export class Followers {
  /** Unanswered by northd. */
  #asked: Debt | undefined;
  /** What northd has passed on. */
  #passed = 0;
  #tooksMs: readonly number[] = [assumedMs];
  readonly #debts = new Map<string, Debt>();

  /** Milliseconds that northd takes to answer a question. */
  get tookMs(): number {
    return Math.min(...this.#tooksMs);
  }

  /** No further question has any use. */
  get isAwaited(): boolean {
    return this.#asked !== undefined;
  }

  asked(number: number, nowMs: number): void {
    this.#asked ??= { number, sinceMs: nowMs };
  }

  /** `gateways`: chassis that are expected to follow. */
  see({ wanted, northd, chassis }: Taken, gateways: Iterable<string>, nowMs: number): void {
    // The database was replaced: nobody will ever get as far as was asked in the one before.
    if (wanted < Math.max(this.#passed, this.#asked?.number ?? 0)) this.reset();
    if (this.#asked !== undefined && northd >= this.#asked.number) {
      this.#tooksMs = [...this.#tooksMs, nowMs - this.#asked.sinceMs].slice(-answersKept);
      this.#passed = this.#asked.number;
      this.#asked = undefined;
    }
    const watched = new Set(gateways);
    for (const name of this.#debts.keys()) if (!watched.has(name)) this.#debts.delete(name);
    for (const name of watched) this.#settle(name, chassis.get(name), nowMs);
  }

  /** Since when northd is behind for too long. */
  northdBehindMs(nowMs: number): number | undefined {
    return this.#overdue(this.#asked, leastPatienceMs.northd, nowMs);
  }

  /** Chassis that are behind for too long → since when. */
  chassisBehindMs(nowMs: number): ReadonlyMap<string, number> {
    const overdue = [...this.#debts].flatMap(([name, debt]) => {
      const sinceMs = this.#overdue(debt, leastPatienceMs.chassis, nowMs);
      return sinceMs === undefined ? [] : [[name, sinceMs] as const];
    });
    return new Map(overdue);
  }

  /** Numbers of before mean nothing any more. */
  reset(): void {
    this.#asked = undefined;
    this.#passed = 0;
    this.#debts.clear();
  }

  #settle(name: string, taken: number | undefined, nowMs: number): void {
    const debt = this.#debts.get(name);
    if (taken === undefined || (debt !== undefined && taken >= debt.number)) this.#debts.delete(name);
    if (taken === undefined || taken >= this.#passed || this.#debts.has(name)) return;
    this.#debts.set(name, { number: this.#passed, sinceMs: nowMs });
  }

  #overdue(debt: Debt | undefined, leastMs: number, nowMs: number): number | undefined {
    const usualMs = Math.min(patienceFactor * this.tookMs, longestPatienceMs);
    const patienceMs = Math.max(leastMs, usualMs);
    return debt !== undefined && nowMs - debt.sinceMs >= patienceMs ? debt.sinceMs : undefined;
  }
}
