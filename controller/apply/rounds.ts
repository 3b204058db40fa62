/**
 * The loop of the room. In: "something changed". Out: the dirty keys' plans, handed to the reconciler, and the keys
 * whose rows are in the database, handed to `status/`. Rule: Kubernetes is told of an address only after the
 * database has it, and that it is free only after the database has forgotten it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { DirtyKeys } from '../plan/dirty-keys.ts';
import { nothing } from '../plan/feature.ts';
import { planKey } from '../plan/plan.ts';
import type { Cluster } from '../settle/cluster.ts';

export interface RoundsOptions {
  readonly cluster: Cluster;
  readonly dirty: DirtyKeys;
  readonly target: OvsdbTarget;
  /** The key's rows are as planned, or were refused. */
  readonly publish: (key: string) => void;
  /** Told of each round: its keys, its duration, and how long its first event had waited. */
  readonly onRound?: (round: { readonly keys: number; readonly ms: number; readonly lagMs: number }) => void;
  /** Told of each changed plan that was sent, how many milliseconds after the first event that asked for it. */
  readonly onSent?: (ms: number) => void;
}

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #refused = new Map<string, Problem>();
  /** Of keys whose changed plans no transaction has taken yet: when it was asked for, and when it was there. */
  readonly #unsent = new Map<string, { readonly askedMs: number; readonly plannedMs: number }>();
  #isStarted = false;
  #dueMs: number | undefined;

  constructor(options: RoundsOptions) {
    this.#options = options;
    options.target.onResult((owner, problem) => this.#finished(owner, problem));
  }

  /** What the database said to a key's rows. */
  refused(key: string): Problem | undefined {
    return this.#refused.get(key);
  }

  /** The full round; from now on rows that nobody planned are pruned. */
  start(): void {
    this.#isStarted = true;
    this.#run();
    this.#options.target.seal();
  }

  /** Something changed; what changes in the same turn is one round. */
  request(): void {
    if (this.#dueMs !== undefined || !this.#isStarted) return;
    this.#dueMs = performance.now();
    setImmediate(() => this.#run());
  }

  #run(): void {
    const start = performance.now();
    const askedMs = this.#dueMs ?? start;
    const lagMs = start - askedMs;
    this.#dueMs = undefined;
    this.#options.cluster.settle();
    const keys = this.#options.dirty.take();
    // That an IP object is gone is to be known before the owner of its port is told again.
    for (const key of keys) if (key.startsWith('ip/')) this.#plan(key, askedMs);
    for (const key of keys) if (!key.startsWith('ip/')) this.#plan(key, askedMs);
    if (keys.size > 0) this.#options.onRound?.({ keys: keys.size, ms: performance.now() - start, lagMs });
  }

  /** A transaction was sent at this time of `performance.now()`: with all that was planned until then. */
  sent(sentMs: number): void {
    for (const [key, { askedMs, plannedMs }] of this.#unsent) {
      if (plannedMs > sentMs) continue;
      this.#unsent.delete(key);
      this.#options.onSent?.(sentMs - askedMs);
    }
  }

  #plan(key: string, askedMs: number): void {
    const { cluster, target, publish } = this.#options;
    const desired = planKey(cluster, key);
    const before = target.desired(key) ?? nothing;
    if (isDeepStrictEqual(before, desired)) {
      publish(key);
      return;
    }
    if (!this.#unsent.has(key)) this.#unsent.set(key, { askedMs, plannedMs: performance.now() });
    if (desired.rows.length === 0 && (desired.contributions?.length ?? 0) === 0) {
      target.drop(key);
    } else target.set(key, desired);
  }

  #finished(owner: string, problem: Problem | undefined): void {
    // Rows that wait for a row of another plan wait for a moment; that is nothing to tell.
    if (problem === undefined || problem.code === 'WaitingForRow') this.#refused.delete(owner);
    else this.#refused.set(owner, problem);
    // Where it is still there, there was nothing to send.
    this.#unsent.delete(owner);
    this.#options.publish(owner);
  }
}
