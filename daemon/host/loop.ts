/**
 * Keeps the host as wanted: applies when the wanted network changes, when the kernel reports a change of its own
 * (ovs-vswitchd restarted and ovn0 is a new device without addresses), and again after a while where something was
 * refused. Several reasons while one application runs lead to one more.
 */
import { isWish, type HostProblem, type HostTarget } from './target.ts';

export interface HostLoopOptions<W> {
  readonly host: HostTarget<W>;
  /** Subscribes to changes in the kernel; returns how to stop. */
  readonly watch: (onChange: () => void) => () => void;
}

/** Gathers a burst of kernel messages, of which our own changes cause some too. */
const gatherMs = 50;
const retryMs = 2000;
/** A wish is refused until somebody changes it or the node's own network. */
const wishRetryMs = 30_000;

export class HostLoop<W> {
  readonly #options: HostLoopOptions<W>;
  readonly #stopWatching: () => void;
  #wanted: W | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires; an earlier reason replaces it. */
  #dueMs = 0;
  #isRunning = false;
  /** In how long there is to be another application, asked for while one runs. */
  #nextMs: number | undefined;
  #problems: readonly HostProblem[] | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(options: HostLoopOptions<W>) {
    this.#options = options;
    this.#stopWatching = options.watch(() => this.#schedule(gatherMs));
  }

  /** Of the last application; undefined before the first. */
  get problems(): readonly HostProblem[] | undefined {
    return this.#problems;
  }

  /** Called after every application. */
  onResult(listener: () => void): void {
    this.#listeners.add(listener);
  }

  set(wanted: W): void {
    this.#wanted = wanted;
    this.#schedule(0);
  }

  close(): void {
    this.#stopWatching();
    clearTimeout(this.#timer);
    this.#wanted = undefined;
  }

  #schedule(delayMs: number): void {
    if (this.#isRunning) this.#nextMs = Math.min(this.#nextMs ?? delayMs, delayMs);
    if (this.#isRunning || this.#wanted === undefined) return;
    const dueMs = performance.now() + delayMs;
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => void this.#run(), delayMs);
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    if (this.#wanted === undefined) return;
    this.#isRunning = true;
    this.#nextMs = undefined;
    this.#problems = await this.#options.host.set(this.#wanted);
    this.#isRunning = false;
    for (const listener of this.#listeners) listener();
    if (this.#nextMs !== undefined) this.#schedule(this.#nextMs);
    else if (!this.#problems.every(isWish)) this.#schedule(retryMs);
    else if (this.#problems.length > 0) this.#schedule(wishRetryMs);
  }
}
