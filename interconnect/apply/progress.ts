/**
 * Progress of writing the settled state: which owners could not be written, whether databases and hub have the newest state,
 * and how long that took. Changes usually arrive within milliseconds: such a delay is not reported.
 */
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { LocalView } from '../model/local.ts';

const lateMs = 1000;
/** Statuses wait for databases for so long at most. */
const longestWriteMs = 2000;
/**
 * Statuses of many clusters are published once nothing was written for this long. It grows with the number of owners
 * written, because more changes may follow and the API server would take the cores that they need.
 */
const quietMs = { least: 100, each: 10, most: 1000 };
/** After a start no status is published before everything is known again, or this time has passed. */
const freshMs = 5000;

export type Cause = 'tunnel' | 'hub';

export interface ProgressOptions {
  readonly targets: { readonly northbound: OvsdbTarget; readonly southbound: OvsdbTarget };
  readonly now: () => number;
  /** A status may be different, or may be published now. */
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
  /** The databases have the newest state; only the hub does not. */
  get isWaitingForHub(): boolean {
    const { northbound, southbound } = this.#options.targets;
    return !this.#isConverged && northbound.isApplied && southbound.isApplied;
  }
  get isFresh(): boolean {
    return this.#isFresh;
  }
  /** Databases are being written, for no longer than is usual: statuses are better published after that. */
  get isWriting(): boolean {
    return this.#writing !== undefined && !this.#isLateWriting;
  }
  /** This cluster as it was when databases and hub last had its newest state. */
  get settledLocal(): LocalView | undefined {
    return this.#settledLocal;
  }

  begin(cause: Cause): void {
    if (!this.#begun.has(cause)) this.#begun.set(cause, this.#options.now());
  }

  /** Waits until all values set so far are written. */
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
