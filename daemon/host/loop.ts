/**
 * Keeps a part of the host as wanted. It applies the wanted value when that changes, when the kernel reports a change (after a restart
 * of ovs-vswitchd, ovn0 is a new device without addresses), and again after a while if something was refused. All reasons that
 * come up while it applies lead to one more application.
 */
import { RoundEngine } from '../../lib/rounds/engine.ts';
import { spacingWithin } from '../../lib/rounds/spacing.ts';
import { isOfRequest, type HostProblem, type HostTarget } from './target.ts';

export interface HostLoopOptions<W> {
  readonly host: HostTarget<W>;
  /** Subscribes to changes in the kernel; returns a function that unsubscribes. */
  readonly watch: (onChange: () => void) => () => void;
}

/** A burst of kernel messages leads to one application; our own changes cause some of them. */
const gatherMs = 50;
/** Of a host with thousands of routes; a failed path must not wait longer. */
const longestSpacingMs = 250;
const retryMs = 2000;
/** A refused request of a subnet or router stays refused until it or the network of the node changes. */
const requestRetryMs = 30_000;

export class HostLoop<W> {
  readonly #options: HostLoopOptions<W>;
  readonly #stopWatching: () => void;
  readonly #engine = new RoundEngine({
    gatherMs,
    spacingMs: spacingWithin(longestSpacingMs),
    run: () => this.#apply(),
  });
  #wanted: W | undefined;
  #problems: readonly HostProblem[] | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(options: HostLoopOptions<W>) {
    this.#options = options;
    this.#stopWatching = options.watch(() => this.#engine.request());
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
    const isFirst = this.#wanted === undefined;
    this.#wanted = wanted;
    if (isFirst) this.#engine.start();
    else this.#engine.soon();
  }

  close(): void {
    this.#stopWatching();
    void this.#engine.close();
  }

  async #apply(): Promise<void> {
    if (this.#wanted === undefined) return;
    this.#problems = await this.#options.host.set(this.#wanted);
    for (const listener of this.#listeners) listener();
    if (!this.#problems.every(isOfRequest)) this.#engine.wakeAfter(retryMs);
    else if (this.#problems.length > 0) this.#engine.wakeAfter(requestRetryMs);
  }
}
