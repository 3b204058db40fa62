/**
 * The agent of one cluster, wired in the data's way: Kubernetes, NB, SB and hub → one view → plans → NB, SB, hub, status.
 *
 * In: a Kubernetes client and synced clients of both databases. Out: what makes this cluster a member, for as long as
 * the Interconnect `default` exists. Called by main.ts under the lease. Any change leads to the same round; what did
 * not change is neither planned nor written again.
 */
import { once } from 'node:events';
import type { OvsdbClient } from 'ovsdb-client';
import type { InterconnectSpec } from '../lib/api/kinds/interconnect.ts';
import { interconnectFinalizer } from '../lib/api/names.ts';
import { openOvsdbTarget } from '../lib/desired/ovsdb-target.ts';
import type { Problem } from '../lib/desired/problem.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { interconnects } from '../lib/kube/resources.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import type { Logger } from '../lib/run/logger.ts';
import { readSecret, secretStore } from './apply/identity.ts';
import { Membership } from './apply/membership.ts';
import { Network, nothing, type NetworkState } from './apply/network.ts';
import { memberState } from './plan/gateways.ts';
import { HubView } from './state/hub-view.ts';
import type { LocalView } from './state/local.ts';
import { Promotions } from './state/promotion.ts';
import { Reporter } from './status/report.ts';
import { readChassis, readPortState, readRouterId, southboundKeyOf } from './watch/databases.ts';
import { buildLocal } from './watch/local.ts';
import { canonicalName, type Interconnect } from './watch/objects.ts';
import { matters, watchSources, type Sources } from './watch/sources.ts';

const room = 'interconnect';
/** A burst of changes is one round. */
const gatherMs = 20;
/** Changes usually arrive within milliseconds: no status is written for being that much behind. */
const lateMs = 1000;
/** After a start nothing is said before everything is known again, or this time has passed. */
const freshMs = 5000;

export interface AgentOptions {
  readonly client: KubeClient;
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  /** Of Isthmus: where its Secrets are. */
  readonly namespace: string;
  readonly identity: string;
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
}

/** What the agent does now, for metrics. */
export interface AgentView {
  readonly isConnected: boolean;
  readonly network: NetworkState;
}

/** Runs until `signal` aborts. `onView` is told after each round. */
export async function runAgent(
  options: AgentOptions,
  signal: AbortSignal,
  onView: (view: AgentView) => void,
): Promise<void> {
  const agent = new Agent(options, signal, onView);
  try {
    await agent.start();
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await agent.close();
  }
}

class Agent {
  readonly #options: AgentOptions;
  readonly #signal: AbortSignal;
  readonly #onView: (view: AgentView) => void;
  readonly #watched: Sources;
  readonly #targets: ReturnType<typeof openTargets>;
  readonly #network: Network;
  readonly #membership: Membership;
  readonly #writer: ObjectWriter;
  readonly #events: EventRecorder;
  readonly #reporter: Reporter;
  readonly #hub = new HubView();
  readonly #promotions: Promotions;
  #again: NodeJS.Timeout | undefined;
  readonly #problems = new Map<string, Problem>();
  readonly #unsubscribe: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #local: LocalView | undefined;
  #state: NetworkState = nothing;
  #isConverged = false;
  #isFresh = true;
  #fresh: NodeJS.Timeout | undefined;
  #late: NodeJS.Timeout | undefined;
  #isWithdrawn = false;
  #leaving: Promise<void> | undefined;

  constructor(options: AgentOptions, signal: AbortSignal, onView: (view: AgentView) => void) {
    const { client, northbound, southbound, namespace, log, now, random } = options;
    this.#options = options;
    this.#signal = signal;
    this.#onView = onView;
    this.#watched = watchSources(client, signal);
    this.#targets = openTargets(options);
    for (const [side, target] of Object.entries(this.#targets))
      target.onResult((owner, problem) => this.#result(`${side} ${owner}`, problem));
    this.#promotions = new Promotions(now);
    this.#network = new Network({
      ...this.#targets,
      portState: (cluster, network) => readPortState(northbound.cache, southbound.cache, cluster, network),
      promote: (network, holder) => this.#promote(network, holder),
    });
    this.#membership = new Membership({
      store: secretStore(client, namespace),
      now,
      random,
      log,
      onUpdate: (update) => {
        this.#hub.apply(update);
        this.#schedule();
      },
      onChange: () => this.#schedule(),
    });
    this.#writer = new ObjectWriter({ signal, log, onRefused: () => this.#schedule() });
    this.#events = new EventRecorder({ client, component: `isthmus-${room}`, instance: options.identity, signal, log });
    this.#reporter = new Reporter({ client, writer: this.#writer, events: this.#events });
  }

  async start(): Promise<void> {
    const { northbound, southbound } = this.#options;
    await Promise.all(Object.values(this.#watched).map(({ synced }) => synced));
    for (const reflector of Object.values(this.#watched))
      this.#unsubscribe.push(reflector.subscribe(() => this.#schedule()));
    for (const client of [northbound, southbound]) {
      this.#unsubscribe.push(client.subscribe((changes) => changes.some(matters) && this.#schedule()));
    }
    this.#fresh = setTimeout(() => {
      this.#isFresh = false;
      this.#schedule();
    }, freshMs);
    this.#schedule();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all(Object.values(this.#watched).map((reflector) => reflector.stop()));
    await this.#leaving;
    await this.#membership.close();
    clearTimeout(this.#timer);
    clearTimeout(this.#late);
    clearTimeout(this.#fresh);
    clearTimeout(this.#again);
    for (const target of Object.values(this.#targets)) target.close();
    await Promise.all([this.#writer.close(), this.#events.close()]);
  }

  #schedule(): void {
    if (this.#signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#round();
    }, gatherMs);
  }

  #round(): void {
    const object = this.#watched.interconnects.get(canonicalName);
    const isOurs = object?.finalizers.includes(interconnectFinalizer) === true;
    if (object === undefined || (object.isDeleting && !isOurs)) this.#beNobody();
    else if (object.isDeleting) this.#leave(object);
    else if (!isOurs) this.#claim(object);
    else if (!('code' in object.spec)) this.#beMember(object.spec);
    this.#report(object);
    this.#onView({ isConnected: this.#membership.state.isConnected, network: this.#state });
  }

  #beMember(spec: InterconnectSpec): void {
    const { client, namespace, northbound, southbound } = this.#options;
    const { name, key } = spec.tokenSecretRef;
    this.#isWithdrawn = false;
    this.#local = buildLocal(
      {
        spec,
        routerId: readRouterId(northbound.cache, spec.vpc),
        subnets: this.#watched.subnets.entries(),
        nodes: this.#watched.nodes.entries(),
        chassis: readChassis(southbound.cache),
      },
      this.#local,
    );
    const readToken = () => readSecret(client, namespace, name, key);
    this.#membership.want({ cluster: spec.clusterName, hub: spec.hub, readToken });
    if (!this.#hub.isReceived) return;
    // A hub that knows no port of ours yet (or any more) is told first: nothing that works is taken down for it.
    if (this.#hub.switches.length > 0) this.#state = this.#network.apply(this.#local, this.#hub);
    // Only now: before the hub has named the ports nobody knows who holds them, and "nobody" would cut the others off.
    const active = this.#state.ports.values().next().value?.active ?? '';
    this.#membership.tell(memberState(this.#local, active));
    this.#follow();
  }

  #promote(network: string, holder: string): string {
    const { chassis, againMs } = this.#promotions.next(network, holder);
    clearTimeout(this.#again);
    if (againMs !== undefined) this.#again = setTimeout(() => this.#schedule(), againMs);
    return chassis;
  }

  /** Converged: the databases hold what was planned and the hub what it was told; behind for long only is worth saying. */
  #follow(): void {
    const { northbound, southbound } = this.#targets;
    const state = this.#state;
    this.#late ??= setTimeout(() => {
      this.#isConverged = false;
      this.#schedule();
    }, lateMs);
    void Promise.all([northbound.untilApplied(), southbound.untilApplied()]).then(() => {
      if (this.#state !== state || this.#hub.revision !== this.#membership.revision) return;
      clearTimeout(this.#late);
      this.#late = undefined;
      if (!this.#isConverged) this.#schedule();
      this.#isConverged = true;
      this.#isFresh = false;
    });
  }

  #beNobody(): void {
    this.#membership.want(undefined);
    this.#hub.reset();
    this.#promotions.clear();
    this.#local = undefined;
    this.#state = nothing;
    this.#isConverged = false;
    clearTimeout(this.#late);
    this.#late = undefined;
    if (this.#isWithdrawn) return;
    this.#isWithdrawn = true;
    void this.#network.withdraw();
  }

  /** The finalizer comes first: a membership must not outlive the object unseen. */
  #claim(object: Interconnect): void {
    const finalizers = [...object.finalizers, interconnectFinalizer];
    void this.#writer.enqueue(`Interconnect/${canonicalName}/finalizers`, () =>
      this.#options.client.patch(interconnects, { name: canonicalName }, 'merge', { metadata: { finalizers } }),
    );
  }

  #leave(object: Interconnect): void {
    this.#leaving ??= this.#leaveInOrder(object).finally(() => {
      this.#leaving = undefined;
    });
  }

  async #leaveInOrder({ spec, finalizers }: Interconnect): Promise<void> {
    this.#beNobody();
    if (!('code' in spec)) {
      await this.#network.withdraw(spec.clusterName);
      await this.#membership.leave(spec.hub, this.#signal);
    }
    if (this.#signal.aborted) return;
    const rest = finalizers.filter((name) => name !== interconnectFinalizer);
    await this.#writer.enqueue(`Interconnect/${canonicalName}/finalizers`, () =>
      this.#options.client.patch(interconnects, { name: canonicalName }, 'merge', { metadata: { finalizers: rest } }),
    );
    this.#options.log.info({}, 'left');
  }

  #result(owner: string, problem: Problem | undefined): void {
    const before = this.#problems.get(owner);
    if (problem === undefined) this.#problems.delete(owner);
    else this.#problems.set(owner, problem);
    if (before?.message !== problem?.message) this.#schedule();
  }

  #report(object: Interconnect | undefined): void {
    const specProblem = object !== undefined && 'code' in object.spec ? object.spec : undefined;
    const { state } = this.#membership;
    const isMember = this.#local !== undefined && !this.#isFresh;
    const isNews = isMember || state.problem !== undefined || specProblem !== undefined;
    // A membership that has not heard of the hub since the start knows nothing that could replace what is written.
    const knowsOthers = this.#local === undefined || (!this.#isFresh && this.#hub.isReceived);
    const situation = {
      local: this.#local,
      link: state,
      network: this.#state,
      members: this.#hub.members,
      switches: this.#hub.switches,
      rejections: this.#hub.rejections,
      isConverged: this.#isConverged,
      problems: [...(specProblem === undefined ? [] : [specProblem]), ...this.#problems.values()],
      nowIso: new Date(this.#options.now()).toISOString(),
    };
    if (object !== undefined && isNews) this.#reporter.interconnect(object, situation);
    if (knowsOthers) this.#reporter.others(this.#watched, situation);
  }
}

function openTargets({ northbound, southbound, log }: AgentOptions) {
  return {
    northbound: openOvsdbTarget({ client: northbound, room, logger: log }),
    southbound: openOvsdbTarget({ client: southbound, room, logger: log, keyOf: southboundKeyOf }),
  };
}
