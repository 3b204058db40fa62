/**
 * The rounds of the room. In: requests, after each change of what is watched. Out: the plan of this node, handed to the target and to
 * `onPlan`, with the lifelines of the node. Rule: nothing is planned before every link that BgpPeers name was read: the peers on a link
 * that was not read yet would seem to be gone.
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

/** A burst of changes is one round. */
const gatherMs = 5;
/** Under constant changes, several are planned and sent together. */
const spacingMs = 40;

export interface RoundsOptions {
  readonly cluster: Cluster;
  readonly drain: Drain;
  readonly target: Pick<GobgpTarget, 'set'>;
  readonly lag: UpdateLag;
  /** Whether all these links were read; if not, a round is requested once they were. */
  readonly followLinks: (names: ReadonlySet<string>) => boolean;
  readonly facts: () => NodeFacts;
  /** @param isOfFewRoutes some routes changed, and nothing that all of them depend on */
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

  /** The cluster is known. */
  start(): void {
    this.#engine.start();
  }

  /** Something changed. */
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
    // Changes from before the first plan are no measure of the speaker's speed.
    if (!this.#isFirst && changes.sinceMs !== undefined && plan.changed.size > 0) lag.wants(changes.sinceMs);
    target.set(plan);
    onPlan(plan, lifelines, !this.#isFirst && changes.objects.length > 0 && !changes.isEverything);
    this.#isFirst = false;
    return true;
  }
}
