/**
 * Waits a minute before a policy is said to select nothing, because the pods of a CronJob, and of a workload that starts again, come back. In: policies whose last pod went. Out:
 * `forgetPods` of the settled policies. Rule: a restart decides from the objects. A policy that selects nothing and does not say so has lost its pods a short while ago, as far as anybody knows.
 */
import { realTimers, type Timers } from '../../lib/rounds/timers.ts';
import type { Cluster } from '../settle/cluster.ts';
import { saysIdle } from '../plan/network-policy/idle.ts';

export interface IdlePoliciesOptions {
  readonly cluster: Cluster;
  /** Called when a policy is to be said to select nothing. */
  readonly onChange: () => void;
  readonly timers?: Timers;
}

const patienceMs = 60_000;

export class IdlePolicies {
  readonly #options: IdlePoliciesOptions;
  readonly #timers: Timers;
  /** When the while of each policy is over; the first one is over first. */
  readonly #due = new Map<string, number>();
  #cancel: (() => void) | undefined;

  constructor(options: IdlePoliciesOptions) {
    this.#options = options;
    this.#timers = options.timers ?? realTimers;
    options.cluster.onChange(({ kind, name }) => {
      if (kind === 'policySelections') this.#changed(name);
    });
  }

  /** Call once all objects are known, before the first reports. */
  start(): void {
    const { cluster } = this.#options;
    for (const name of cluster.policies.inForce.keys()) {
      if (saysIdle(cluster, name)) continue;
      cluster.policies.rememberPods(name);
      this.#changed(name);
    }
  }

  close(): void {
    this.#cancel?.();
  }

  #changed(name: string): void {
    this.#due.delete(name);
    if (this.#options.cluster.policies.hasLeft(name)) this.#due.set(name, this.#timers.nowMs() + patienceMs);
    this.#wait();
  }

  #wait(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const dueMs of this.#due.values()) {
      this.#cancel = this.#timers.after(dueMs - this.#timers.nowMs(), () => this.#expire());
      return;
    }
  }

  #expire(): void {
    const now = this.#timers.nowMs();
    const over = [...this.#due].filter(([, dueMs]) => dueMs <= now).map(([name]) => name);
    for (const name of over) this.#options.cluster.policies.forgetPods(name);
    if (over.length > 0) this.#options.onChange();
    this.#wait();
  }
}
