/**
 * How far what was decided has come: which owners could not be written, whether databases and hub have the newest state,
 * how long that took. Changes usually arrive within milliseconds: nothing is said for being that much behind.
 */
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { LocalView } from '../model/local.ts';

const lateMs = 1000;
/** Statuses wait for databases for so long at most. */
const longestWriteMs = 2000;
/**
 * What is told in parts is told once nothing more was written for so long: longer the more was, as other clusters come
 * in parts too, and the API server would have the cores that the next part needs.
 */
const quietMs = { least: 100, each: 10, most: 1000 };
/** After a start nothing is said before everything is known again, or this time has passed. */
const freshMs = 5000;

export type Cause = 'tunnel' | 'hub';

export interface ProgressOptions {
  readonly targets: { readonly northbound: OvsdbTarget; readonly southbound: OvsdbTarget };
  readonly now: () => number;
  /** Something to say is different, or may be said now. */
  readonly onChange: () => void;
  /** Milliseconds from a cause to the northbound database. */
  readonly onReaction: (cause: Cause, ms: number) => void;
}

export class Progress {
  readonly #options: ProgressOptions;
  readonly #problems = new Map<string, Problem>();
  readonly #begun = new Map<Cause, number>();
  readonly #fresh: NodeJS.Timeout;
  #late: NodeJS.Timeout | undefined;
  #round = 0;
  /** While databases are written, and for no longer than is usual. */
  #writing: NodeJS.Timeout | undefined;
  #quiet: NodeJS.Timeout | undefined;
  #isLateWriting = false;
  /** Owners written since this began. */
  #written = 0;
  #isConverged = false;
  #isFresh = true;
  #settledLocal: LocalView | undefined;

  constructor(options: ProgressOptions) {
    this.#options = options;
    for (const [side, target] of Object.entries(options.targets))
      target.onResult((owner, problem) => this.#result(`${side} ${owner}`, problem));
    this.#fresh = setTimeout(() => {
      this.#isFresh = false;
      options.onChange();
    }, freshMs);
  }

  get problems(): readonly Problem[] {
    return [...this.#problems.values()];
  }
  get isConverged(): boolean {
    return this.#isConverged;
  }
  /** The databases have everything, and only the hub has not. */
  get isWaitingForHub(): boolean {
    const { northbound, southbound } = this.#options.targets;
    return !this.#isConverged && northbound.isApplied && southbound.isApplied;
  }
  get isFresh(): boolean {
    return this.#isFresh;
  }
  /** Databases are being written, not yet for longer than is usual: what is to be told is better told after that. */
  get isWriting(): boolean {
    return this.#writing !== undefined && !this.#isLateWriting;
  }
  /** This cluster as it was when databases and hub last had all of it. */
  get settledLocal(): LocalView | undefined {
    return this.#settledLocal;
  }

  begin(cause: Cause): void {
    if (!this.#begun.has(cause)) this.#begun.set(cause, this.#options.now());
  }

  /** Waits until what was set so far is written. */
  follow(local: LocalView | undefined, isKnownToHub: () => boolean): void {
    const { northbound, southbound } = this.#options.targets;
    this.#round += 1;
    const round = this.#round;
    const begun = new Map(this.#begun);
    this.#begun.clear();
    this.#late ??= setTimeout(() => {
      this.#isConverged = false;
      this.#options.onChange();
    }, lateMs);
    if (!northbound.isApplied || !southbound.isApplied) this.#startWriting();
    const written = northbound.untilApplied();
    void written.then(() => {
      for (const [cause, sinceMs] of begun) this.#options.onReaction(cause, this.#options.now() - sinceMs);
    });
    void Promise.all([written, southbound.untilApplied()]).then(() => {
      if (northbound.isApplied && southbound.isApplied) this.#restFromWriting();
      if (round !== this.#round || !isKnownToHub()) return;
      clearTimeout(this.#late);
      this.#late = undefined;
      const isNews = !this.#isConverged || this.#isFresh || this.#settledLocal !== local;
      this.#isConverged = true;
      this.#isFresh = false;
      this.#settledLocal = local;
      if (isNews) this.#options.onChange();
    });
  }

  reset(): void {
    this.#round += 1;
    this.#begun.clear();
    this.#stopWriting();
    this.#isConverged = false;
    this.#settledLocal = undefined;
    clearTimeout(this.#late);
    this.#late = undefined;
  }

  close(): void {
    this.reset();
    clearTimeout(this.#fresh);
  }

  #startWriting(): void {
    clearTimeout(this.#quiet);
    this.#quiet = undefined;
    if (this.#writing === undefined) this.#written = 0;
    this.#writing ??= setTimeout(() => {
      this.#isLateWriting = true;
      this.#options.onChange();
    }, longestWriteMs);
  }

  #restFromWriting(): void {
    if (this.#writing === undefined) return;
    const ms = Math.min(quietMs.most, quietMs.least + quietMs.each * this.#written);
    this.#quiet ??= setTimeout(() => {
      this.#stopWriting();
      this.#options.onChange();
    }, ms);
  }

  #stopWriting(): void {
    clearTimeout(this.#writing);
    clearTimeout(this.#quiet);
    this.#writing = undefined;
    this.#quiet = undefined;
    this.#isLateWriting = false;
  }

  #result(owner: string, problem: Problem | undefined): void {
    this.#written += 1;
    const before = this.#problems.get(owner);
    if (problem === undefined) this.#problems.delete(owner);
    else this.#problems.set(owner, problem);
    if (before?.message !== problem?.message) this.#options.onChange();
  }
}
