/**
 * Keeps a part of the host as wanted. It applies the wanted value when that changes, when the kernel reports a change (after a restart
 * of ovs-vswitchd, ovn0 is a new device without addresses), and again after a while if something was refused. All reasons that
 * come up while it applies lead to one more application.
 */
import { isOfRequest, type HostProblem, type HostTarget } from './target.ts';

export interface HostLoopOptions<W> {
  readonly host: HostTarget<W>;
  /** Subscribes to changes in the kernel; returns a function that unsubscribes. */
  readonly watch: (onChange: () => void) => () => void;
}

/** Joins a burst of kernel messages into one application; our own changes cause some of them. */
const gatherMs = 50;
const retryMs = 2000;
/** A refused request of a subnet or router stays refused until it or the network of the node changes. */
const requestRetryMs = 30_000;

export class HostLoop<W> {
  readonly #options: HostLoopOptions<W>;
  readonly #stopWatching: () => void;
  #wanted: W | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Time at which the timer fires; an earlier reason replaces it. */
  #dueMs = 0;
  #isRunning = false;
  /** Delay of the next application, requested while one runs. */
  #nextMs: number | undefined;
  #problems: readonly HostProblem[] | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(options: HostLoopOptions<W>) {
    this.#options = options;
    this.#stopWatching = options.watch(() => this.#schedule(gatherMs));
  }

  /** Problems of the last application; undefined before the first. */
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
    else if (!this.#problems.every(isOfRequest)) this.#schedule(retryMs);
    else if (this.#problems.length > 0) this.#schedule(requestRetryMs);
  }
}
