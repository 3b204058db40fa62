/**
 * The loop of the room. In: "something changed". Out: the dirty keys' plans, handed to the reconciler, and the keys
 * whose rows are in the database, handed to `status/`. Rule: Kubernetes is told of an address only after the
 * database has it, and that it is free only after the database has forgotten it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { nothing } from '../plan/feature.ts';
import { planKey } from '../plan/plan.ts';
import type { Cluster } from '../state/cluster.ts';

export interface RoundsOptions {
  readonly cluster: Cluster;
  readonly target: OvsdbTarget;
  /** The key's rows are as planned, or were refused. */
  readonly publish: (key: string) => void;
  /** Told of each round: its keys, its duration, and how long its first event had waited. */
  readonly onRound?: (round: { readonly keys: number; readonly ms: number; readonly lagMs: number }) => void;
}

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #refused = new Map<string, Problem>();
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
    const lagMs = start - (this.#dueMs ?? start);
    this.#dueMs = undefined;
    const keys = this.#options.cluster.settle();
    for (const key of keys) this.#plan(key);
    if (keys.size > 0) this.#options.onRound?.({ keys: keys.size, ms: performance.now() - start, lagMs });
  }

  #plan(key: string): void {
    const { cluster, target, publish } = this.#options;
    const desired = planKey(cluster, key);
    const before = target.desired(key) ?? nothing;
    if (isDeepStrictEqual(before, desired)) {
      publish(key);
      return;
    }
    if (desired.rows.length === 0 && (desired.contributions?.length ?? 0) === 0) {
      target.drop(key);
    } else target.set(key, desired);
  }

  #finished(owner: string, problem: Problem | undefined): void {
    // Rows that wait for a row of another plan wait for a moment; that is nothing to tell.
    if (problem === undefined || problem.code === 'WaitingForRow') this.#refused.delete(owner);
    else this.#refused.set(owner, problem);
    this.#options.publish(owner);
  }
}
