/**
 * The speaker's reports: statuses, its BgpNodeState, events and metrics. In: plans, gobgpd's state and the routes that routers announce. Out: one
 * plan of all statuses, written where they differ. Counts in statuses are updated less often than session states.
 */
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { Lifelines } from '../../lib/bgp/lifelines.ts';
import { RoundEngine } from '../../lib/rounds/engine.ts';
import { spacingUnderLoad } from '../../lib/rounds/spacing.ts';
import type { SliceWriter } from '../../lib/slices/writer.ts';
import type { Clues, Observed } from '../model/observed.ts';
import type { Received } from '../model/received.ts';
import { learnedBefore, learnedRoutesOf, planLearned } from '../plan/learned.ts';
import type { SpeakerPlan } from '../plan/plan.ts';
import { planStatus } from '../plan/status.ts';
import type { Cluster } from '../state/cluster.ts';
import type { SpeakerEvents } from './events.ts';
import type { SpeakerMetrics } from './metrics.ts';
import type { NodeStateWriter } from './node-state-writer.ts';
import type { StatusWriter } from './status-writer.ts';

/** A burst of changes is reported once. */
const gatherMs = 5;
/** Minimum time between two updates of counts. */
const countsMs = 1000;
/** Minimum time between two plans of learned routes while a router sends its table. */
const receivedMs = 100;

export interface ReportOptions {
  readonly node: string;
  readonly cluster: Cluster;
  readonly clues: () => Clues;
  readonly metrics: Pick<SpeakerMetrics, 'set'>;
  readonly status: Pick<StatusWriter, 'write'>;
  readonly nodeState: Pick<NodeStateWriter, 'write'>;
  readonly slices: Pick<SliceWriter<BgpRoute>, 'write' | 'remove'>;
  readonly events: Pick<SpeakerEvents, 'onAnnotations'>;
}

export class Report {
  readonly #options: ReportOptions;
  readonly #states = new RoundEngine({ gatherMs, run: () => this.#write() });
  readonly #counts = new RoundEngine({ spacingMs: spacingUnderLoad(countsMs), run: () => this.#write() });
  readonly #learned = new RoundEngine({ spacingMs: spacingUnderLoad(receivedMs), run: () => this.#write() });
  #plan: SpeakerPlan | undefined;
  #lifelines = new Lifelines({});
  #observed: Observed | undefined;
  #received: Received | undefined;

  constructor(options: ReportOptions) {
    this.#options = options;
    for (const engine of this.#engines()) engine.start();
  }

  /** Whether gobgpd was read, or an attempt was made. */
  get isReady(): boolean {
    return this.#observed !== undefined;
  }

  /** @param isOfFewRoutes only counts of routes may have changed */
  planned(plan: SpeakerPlan, lifelines: Lifelines, isOfFewRoutes: boolean): void {
    this.#plan = plan;
    this.#lifelines = lifelines;
    (isOfFewRoutes ? this.#counts : this.#states).request();
  }

  observed(observed: Observed): void {
    this.#observed = observed;
    this.#states.request();
  }

  received(received: Received): void {
    this.#received = received;
    this.#learned.request();
  }

  /** Called when the reason for the end of a session may have become known. */
  cluesChanged(): void {
    this.#states.request();
  }

  close(): void {
    for (const engine of this.#engines()) void engine.close();
  }

  #engines(): readonly RoundEngine[] {
    return [this.#states, this.#counts, this.#learned];
  }

  #write(): void {
    const [plan, observed] = [this.#plan, this.#observed];
    if (!plan || !observed) return;
    const { node, cluster, clues, metrics, status, nodeState, slices, events } = this.#options;
    const { objects, nodeState: shown } = cluster;
    // Until gobgpd has reported all received routes, the routes of the former report stay.
    const learned = this.#received
      ? planLearned(plan, this.#lifelines, observed, this.#received)
      : learnedBefore(plan, observed, shown?.status ?? {}, cluster.learned);
    const planned = planStatus(objects, plan, observed, clues(), learned);
    metrics.set({ state: objects, plan, observed, nodeState: planned.nodeState });
    status.write(objects, planned);
    // Slices are owned by an existing object and are requested first: without any slice, readers take the sample as the full list.
    if (planned.nodeState === undefined) slices.remove(node);
    else if (shown !== undefined) slices.write({ name: node, uid: shown.uid }, learnedRoutesOf(learned));
    nodeState.write(shown?.status, objects.nodes.get(node)?.uid, planned.nodeState);
    events.onAnnotations(objects, planned.annotations);
  }
}
