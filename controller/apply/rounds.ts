/**
 * The rounds of the room. In: requests, after each change of the state. Out: the plans of the dirty keys, handed to the
 * target, and the keys whose rows are in the database, handed to `status/`. Rule: Kubernetes learns of an address only
 * after the database has it, and that it is free only after the database has forgotten it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { RoundEngine, type Round } from '../../lib/rounds/engine.ts';
import type { DirtyKeys } from '../plan/dirty-keys.ts';
import { nothing } from '../plan/feature.ts';
import { planKey } from '../plan/plan.ts';
import type { Cluster } from '../settle/cluster.ts';
import { Refusals } from './refusals.ts';

export interface RoundsOptions {
  readonly cluster: Cluster;
  readonly dirty: DirtyKeys;
  readonly target: OvsdbTarget;
  /** Called when the key's rows are as planned, or were refused. */
  readonly publish: (key: string) => void;
  /** Called after each round: how many keys it had, how long it took, and how long its first event had waited. */
  readonly onRound?: (round: { readonly keys: number; readonly ms: number; readonly lagMs: number }) => void;
  /** Called for each changed plan that was sent, with the milliseconds since the first event that asked for it. */
  readonly onSent?: (ms: number) => void;
}

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #refusals = new Refusals();
  /** Keys with a changed plan that no transaction has taken yet: when it was requested, and when it was planned. */
  readonly #unsent = new Map<string, { readonly requestedMs: number; readonly plannedMs: number }>();
  readonly #engine: RoundEngine;

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#engine = new RoundEngine({
      run: (round) => this.#run(round),
      untilWritten: () => options.target.untilApplied(),
    });
    options.target.onResult((owner, problem) => this.#finished(owner, problem));
  }

  /** Database errors of the key and of all keys whose outcome its status includes. */
  refusals(key: string): ReadonlyMap<string, Problem> {
    return this.#refusals.of(key);
  }

  /** Runs the full round; from now on rows without a plan are pruned. */
  start(): void {
    this.#engine.start();
  }

  /** Requests a round. Requests in one turn of the event loop share it. @returns the round's revision */
  request(): number {
    return this.#engine.request();
  }

  /** Resolves when the database has applied or refused the round of this revision. */
  untilApplied(revision?: number): Promise<void> {
    return this.#engine.untilApplied(revision);
  }

  close(): void {
    void this.#engine.close();
  }

  #run({ revision, waitedMs }: Round<never>): void {
    const startMs = performance.now();
    const requestedMs = startMs - waitedMs;
    this.#options.cluster.settle();
    const keys = this.#options.dirty.take();
    for (const turn of [0, 1, 2]) for (const key of keys) if (turnOf(key) === turn) this.#plan(key, requestedMs);
    if (revision === 1) this.#options.target.seal();
    const ms = performance.now() - startMs;
    if (keys.size > 0) this.#options.onRound?.({ keys: keys.size, ms, lagMs: waitedMs });
  }

  /** Call after a transaction was sent, with its time of `performance.now()`. It contains everything planned until then. */
  sent(sentMs: number): void {
    for (const [key, { requestedMs, plannedMs }] of this.#unsent) {
      if (plannedMs > sentMs) continue;
      this.#unsent.delete(key);
      this.#options.onSent?.(sentMs - requestedMs);
    }
  }

  #plan(key: string, requestedMs: number): void {
    const { cluster, target, publish } = this.#options;
    const desired = planKey(cluster, key);
    const before = target.desired(key) ?? nothing;
    if (isDeepStrictEqual(before, desired)) {
      publish(key);
      return;
    }
    if (!this.#unsent.has(key)) this.#unsent.set(key, { requestedMs, plannedMs: performance.now() });
    if (desired.rows.length === 0 && (desired.contributions?.length ?? 0) === 0) {
      target.drop(key);
    } else target.set(key, desired);
  }

  #finished(owner: string, problem: Problem | undefined): void {
    // Rows wait only briefly for a row of another plan, which is not a problem to report.
    this.#refusals.set(owner, problem?.code === 'WaitingForRow' ? undefined : problem);
    // A key that is still in the map had nothing to send.
    this.#unsent.delete(owner);
    this.#options.publish(owner);
  }
}

/** Keys that report objects which others create again are published before those: IP objects of ports, and Services of rules. */
function turnOf(key: string): 0 | 1 | 2 {
  if (key.startsWith('ip/')) return 0;
  return ['switch-lb-rule/', 'router-lb-rule/'].some((prefix) => key.startsWith(prefix)) ? 2 : 1;
}
