/**
 * Keeps the host as wanted: applies when the wanted network changes, when the kernel reports a change of its own
 * (ovs-vswitchd restarted and ovn0 is a new device without addresses), and again after a while where something was
 * refused. Several reasons while one application runs lead to one more.
 */
import type { HostNetwork } from '../plan/host-network.ts';
import type { HostProblem, HostTarget } from './target.ts';

export interface HostLoopOptions {
  readonly host: HostTarget;
  /** Subscribes to changes in the kernel; returns how to stop. */
  readonly watch: (onChange: () => void) => () => void;
}

/** Gathers a burst of kernel messages, of which our own changes cause some too. */
const gatherMs = 50;
const retryMs = 2000;
/** A subnet's wish is refused until somebody changes the subnet or the node's own network. */
const wishRetryMs = 30_000;

export class HostLoop {
  readonly #options: HostLoopOptions;
  readonly #stopWatching: () => void;
  #wanted: HostNetwork | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires; an earlier reason replaces it. */
  #dueMs = 0;
  #isRunning = false;
  #isDirty = false;
  #problems: readonly HostProblem[] | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(options: HostLoopOptions) {
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

  set(wanted: HostNetwork): void {
    this.#wanted = wanted;
    this.#schedule(0);
  }

  close(): void {
    this.#stopWatching();
    clearTimeout(this.#timer);
    this.#wanted = undefined;
  }

  #schedule(delayMs: number): void {
    this.#isDirty = true;
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
    this.#isDirty = false;
    this.#problems = await this.#options.host.set(this.#wanted);
    this.#isRunning = false;
    for (const listener of this.#listeners) listener();
    if (this.#isDirty) this.#schedule(gatherMs);
    else if (this.#problems.some(({ subnet }) => subnet === undefined)) this.#schedule(retryMs);
    else if (this.#problems.length > 0) this.#schedule(wishRetryMs);
  }
}
