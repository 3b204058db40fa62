/**
 * The rounds of the room. In: a request after each change of a watched object. Out: the plan of this node, passed to the target and to `onPlan`,
 * together with the node's lifelines. Rule: nothing is planned before every link that a BgpPeer names has been read, because the peers on an unread
 * link would appear to be gone.
 */
import { isDrained } from '../../lib/bgp/drain.ts';
import { chooseInstance } from '../../lib/bgp/instance.ts';
import type { Lifelines } from '../../lib/bgp/lifelines.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import type { NodeFacts } from '../model/objects.ts';
import { planLifelines } from '../plan/lifelines.ts';
import { type SpeakerPlan, SpeakerPlanner } from '../plan/plan.ts';
import type { Drain } from '../settle/drain.ts';
import { namedLinks } from '../settle/neighbors.ts';
import type { Cluster } from '../state/cluster.ts';
import type { GobgpTarget } from './target.ts';
import type { UpdateLag } from './update-lag.ts';

/** A burst of changes is planned in one round. */
const gatherMs = 5;
/** Under constant changes, several changes are planned and sent together. */
const spacingMs = 40;

export interface RoundsOptions {
  readonly cluster: Cluster;
  readonly drain: Drain;
  readonly target: Pick<GobgpTarget, 'set'>;
  readonly lag: UpdateLag;
  /** Whether all these links were read; if not, a round is requested once they are. */
  readonly followLinks: (names: ReadonlySet<string>) => boolean;
  readonly facts: () => NodeFacts;
  /** @param isOfFewRoutes only some routes changed, and nothing that all routes depend on */
  readonly onPlan: (plan: SpeakerPlan, lifelines: Lifelines, isOfFewRoutes: boolean) => void;
  readonly monotonicMs: () => number;
}

export class Rounds {
  readonly #options: RoundsOptions;
  readonly #planner = new SpeakerPlanner();
  readonly #engine = new RoundEngine({ gatherMs, spacingMs, run: () => this.#run() });
  #isFirst = true;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  /** Starts the rounds, once the cluster is known. */
  start(): void {
    this.#engine.start();
  }

  /** Requests a round after a change. */
  request(): void {
    this.#engine.request();
  }

  close(): void {
    void this.#engine.close();
  }

  #run(): boolean {
    const { cluster, drain, target, lag, followLinks, facts, onPlan, monotonicMs } = this.#options;
    const { objects } = cluster;
    if (!followLinks(namedLinks(objects))) return false;
    const changes = cluster.takeChanges();
    const choice = chooseInstance(objects);
    const { instance } = choice;
    const nowMs = monotonicMs();
    const phase = drain.phase(isDrained(objects, instance), instance?.drain.settleSeconds ?? 0, nowMs);
    this.#engine.wakeAfter(drain.leftMs(nowMs));
    const plan = this.#planner.plan(objects, changes, choice, phase);
    const lifelines = planLifelines(objects, plan, facts());
    // Changes from before the first plan do not measure the speaker's latency.
    if (!this.#isFirst && changes.sinceMs !== undefined && plan.changed.size > 0) lag.wants(changes.sinceMs);
    target.set(plan);
    onPlan(plan, lifelines, !this.#isFirst && changes.objects.length > 0 && !changes.isEverything);
    this.#isFirst = false;
    return true;
  }
}
