/**
 * The agent of one cluster, wired in the data's way: Kubernetes, NB, SB and hub → one view → plans → NB, SB, hub, status.
 *
 * In: a Kubernetes client and synced clients of both databases. Out: what makes this cluster a member, for as long as
 * the Interconnect `default` exists. Called by main.ts under the lease. Any change leads to the same round; what did
 * not change is neither planned nor written again. A tunnel that changes is answered at once, the rest in bursts.
 */
import { once } from 'node:events';
import type { Change, OvsdbClient } from 'ovsdb-client';
import type { InterconnectSpec } from '../lib/api/kinds/interconnect.ts';
import { interconnectFinalizer } from '../lib/api/names.ts';
import { openOvsdbTarget } from '../lib/desired/ovsdb-target.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { interconnects } from '../lib/kube/resources.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import type { Logger } from '../lib/run/logger.ts';
import { readSecret, secretStore } from './apply/identity.ts';
import { Heartbeats } from './watch/heartbeats.ts';
import { Inquiry } from './apply/ovn-probe.ts';
import { LocalMember } from './apply/member.ts';
import { Membership } from './apply/membership.ts';
import type { LinkState } from './model/link-state.ts';
import { OvnIcConfig } from './apply/ovn-ic-config.ts';
import { countRefused } from './model/refused.ts';
import { ownEntries } from './plan/own-keys.ts';
import { isTakenUp } from './settle/followers.ts';
import { HubView } from './state/hub-view.ts';
import { Progress } from './apply/progress.ts';
import type { RemoteView } from './settle/remotes.ts';
import { Transitions } from './status/transitions.ts';
import type { Tunnels } from './state/tunnels.ts';
import { Telling } from './status/publisher.ts';
import { southboundKeyOf, southboundOwnerOf } from './watch/databases.ts';
import { canonicalName, type GatewayObject, type Interconnect } from './model/objects.ts';
import { concernOf, watchSources, type Sources } from './watch/sources.ts';

const room = 'interconnect';
/** A burst of changes is one round. */
const gatherMs = 20;
/** While databases are written the Interconnect is told of so often at most. */
const busyMs = 300;
/** The longest a timer can wait. */
const longestMs = 2 ** 31 - 1;

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
  /** Seconds from a tunnel's change, or the hub's word, to the northbound database. */
  readonly onReaction?: (kind: 'tunnel' | 'hub', seconds: number) => void;
}

/** What the agent knows now, for metrics. */
export interface AgentView {
  readonly link: LinkState;
  readonly remotes: RemoteView;
  readonly tunnels: Tunnels;
  readonly conflicts: number;
}

/** Runs until `signal` aborts. `onView` is told once, with a function that looks at the present state. */
export async function runAgent(
  options: AgentOptions,
  signal: AbortSignal,
  onView: (look: () => AgentView) => void,
): Promise<void> {
  const agent = new Agent(options, signal);
  onView(() => agent.view());
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
  readonly #sources: Sources;
  readonly #targets: ReturnType<typeof openTargets>;
  readonly #member: LocalMember;
  readonly #membership: Membership;
  readonly #writer: ObjectWriter;
  readonly #events: EventRecorder;
  readonly #telling: Telling;
  readonly #ovnIcConfig: OvnIcConfig;
  readonly #hub = new HubView();
  readonly #progress: Progress;
  readonly #inquiry: Inquiry;
  readonly #heartbeats: Heartbeats;
  readonly #transitions = new Transitions();
  readonly #unsubscribe: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #urgent: NodeJS.Immediate | undefined;
  #wake: NodeJS.Timeout | undefined;
  #toldMs = 0;
  #isWithdrawn = false;
  #leaving: { readonly uid: string; readonly run: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(options: AgentOptions, signal: AbortSignal) {
    const { client, northbound, southbound, namespace, log, now, random } = options;
    this.#options = options;
    this.#signal = signal;
    this.#sources = watchSources(client, signal, log);
    this.#targets = openTargets(options, () => this.#inquiry.wrote());
    this.#progress = new Progress({
      targets: this.#targets,
      now,
      onChange: () => this.#schedule(),
      onReaction: (kind, ms) => options.onReaction?.(kind, ms / 1000),
    });
    this.#member = new LocalMember({
      northbound,
      southbound,
      targets: this.#targets,
      sources: this.#sources,
      now,
      isFollowed: () => isTakenUp(this.#inquiry.still),
      isStuck: (node) => this.#inquiry.still.controllers.has(node),
    });
    this.#inquiry = new Inquiry({
      northbound,
      southbound,
      now,
      gateways: () => this.#member.followers,
      onChange: () => this.#schedule(),
    });
    this.#heartbeats = new Heartbeats({ client, log, onChange: () => this.#silenceTurned() });
    this.#membership = new Membership({
      store: secretStore(client, namespace),
      now,
      random,
      log,
      onUpdate: (update) => {
        const before = this.#hub.unreachedBy;
        const { members } = this.#hub.apply(update, now());
        const isOtherWord = !isSameWord(before, this.#hub.unreachedBy);
        // What others say counts where nobody here can tell.
        if (isOtherWord && this.#heartbeats.silent.size > 0) this.#telling.clustersChanged(this.#hub.members.keys());
        for (const name of members) this.#member.tunnels.learn(name, this.#hub.members.get(name));
        this.#member.clustersChanged(members);
        this.#telling.clustersChanged(members);
        this.#progress.begin('hub');
        this.#schedule();
      },
      onChange: () => this.#schedule(),
    });
    this.#writer = new ObjectWriter({ signal, log, onRefused: () => this.#schedule() });
    this.#events = new EventRecorder({ client, component: `isthmus-${room}`, instance: options.identity, signal, log });
    const reports = { client, writer: this.#writer, events: this.#events, sources: this.#sources };
    this.#telling = new Telling({ ...reports, now, onDue: () => this.#schedule() });
    const { nodes, routePolicies } = this.#sources;
    this.#ovnIcConfig = new OvnIcConfig({ ...reports, nodes, routePolicies, namespace, log, signal });
  }

  view(): AgentView {
    const { remotes } = this.#member.network;
    const conflicts =
      countRefused(this.#hub.rejections) + remotes.conflicts.values().reduce((sum, list) => sum + list.length, 0);
    return { link: this.#membership.state, remotes, tunnels: this.#member.tunnels, conflicts };
  }

  async start(): Promise<void> {
    const { northbound, southbound } = this.#options;
    await Promise.all(Object.values(this.#sources).map(({ synced }) => synced));
    this.#watch();
    for (const [node, object] of this.#sources.gateways.entries()) {
      this.#member.tunnels.set(node, undefined, object);
      this.#heartbeats.seen(node, object.checkedAt);
    }
    this.#heartbeats.start();
    for (const client of [northbound, southbound])
      this.#unsubscribe.push(client.subscribe((changes) => this.#databaseChanged(changes)));
    void this.#ovnIcConfig.start();
    this.#schedule();
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#stopTimers();
    await Promise.all([this.#ovnIcConfig.stop(), ...Object.values(this.#sources).map((reflector) => reflector.stop())]);
    await this.#leaving?.ended;
    await this.#membership.close();
    this.#stopTimers();
    this.#telling.close();
    this.#progress.close();
    this.#inquiry.stop();
    this.#heartbeats.stop();
    for (const target of Object.values(this.#targets)) target.close();
    await Promise.all([this.#writer.close(), this.#events.close()]);
  }

  #watch(): void {
    const { gateways, remoteClusters, transitSwitches, bgpNodeStates, ...plain } = this.#sources;
    const local = (): void => {
      this.#member.localChanged();
      this.#schedule();
    };
    for (const reflector of Object.values(plain)) this.#unsubscribe.push(reflector.subscribe(local));
    this.#unsubscribe.push(
      plain.interconnects.subscribe(({ key }) => this.#telling.seen('Interconnect', key)),
      gateways.subscribe(({ key, before, after }) => this.#gatewayChanged(key, before, after)),
      remoteClusters.subscribe(({ key }) => {
        this.#telling.seen('RemoteCluster', key);
        this.#schedule();
      }),
      bgpNodeStates.subscribe(() => {
        this.#member.edgesChanged();
        this.#schedule();
      }),
      transitSwitches.subscribe(({ key }) => {
        this.#telling.seen('TransitSwitch', key);
        local();
      }),
    );
  }

  #gatewayChanged(node: string, before: GatewayObject | undefined, after: GatewayObject | undefined): void {
    this.#telling.seen('InterconnectGateway', node);
    this.#heartbeats.seen(node, after?.checkedAt);
    // Only those that are cut off from each other are judged by how often they look.
    if (isHeartbeat(before, after) && this.#member.cuts.length === 0) return;
    if (before?.status.silentPrograms?.join() !== after?.status.silentPrograms?.join())
      this.#telling.clustersChanged(this.#hub.members.keys());
    const clusters = this.#member.tunnels.set(node, before, after);
    this.#telling.clustersChanged(this.#member.tunnels.measured(before, after));
    if (before?.isDrained !== after?.isDrained || before === undefined || after === undefined)
      this.#member.localChanged();
    if (clusters.size === 0) return this.#schedule();
    this.#member.clustersChanged(clusters);
    this.#progress.begin('tunnel');
    this.#urgent ??= setImmediate(() => {
      this.#urgent = undefined;
      this.#round();
    });
  }

  #silenceTurned(): void {
    // Whether it is the daemon alone shows when its ovn-controller is asked.
    this.#inquiry.doubt();
    this.#telling.clustersChanged(this.#hub.members.keys());
    this.#schedule();
  }

  #databaseChanged(changes: readonly Change[]): void {
    const concerns = new Set(changes.map(concernOf));
    if (concerns.has('local')) this.#member.localChanged();
    if (concerns.has('local') || concerns.has('holders')) this.#schedule();
  }

  #schedule(): void {
    if (this.#signal.aborted) return;
    this.#timer ??= setTimeout(() => this.#round(), gatherMs);
  }

  #stopTimers(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#wake);
    clearImmediate(this.#urgent);
  }

  #round(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#signal.aborted) return;
    const object = this.#sources.interconnects.get(canonicalName);
    const isOurs = object?.finalizers.includes(interconnectFinalizer) === true;
    // Somebody let go of what was being left: it must not end what came after it.
    if (this.#leaving?.uid !== object?.uid || !isOurs) this.#leaving?.run.abort();
    if (object === undefined || (object.isDeleting && !isOurs)) this.#beNobody();
    else if (object.isDeleting) this.#leave(object);
    else if (!isOurs) this.#claim(object);
    else if (!('code' in object.spec)) this.#beMember(object.spec);
    this.#tell(object);
    this.#sleep();
  }

  #beMember(spec: InterconnectSpec): void {
    const { client, namespace } = this.#options;
    const { name, key } = spec.tokenSecretRef;
    this.#isWithdrawn = false;
    this.#inquiry.start();
    const readToken = () => readSecret(client, namespace, name, key);
    this.#membership.want({ cluster: spec.clusterName, hub: spec.hub, tokenRef: `${name}/${key}`, readToken });
    this.#tellHub(spec);
    // Before the hub has answered to what it was told, nothing may be concluded from what it says.
    if (!this.#hub.isComplete) return;
    const changed = this.#member.apply(this.#hub);
    this.#telling.clustersChanged(changed);
    for (const transition of this.#transitions.take(changed, this.#member.network.remotes))
      this.#options.log.info({ ...transition }, 'path');
    // Paths that went down or up may be what the hub is to know.
    this.#tellHub(spec);
    this.#progress.follow(this.#member.local, () => this.#hub.revision === this.#membership.revision);
  }

  #tellHub(spec: InterconnectSpec): void {
    this.#membership.tell(this.#member.observe(spec, this.#hub, this.#membership.state));
    this.#member.told(this.#membership.revision);
  }

  #sleep(): void {
    clearTimeout(this.#wake);
    const { wakeMs } = this.#member;
    if (wakeMs === Infinity || this.#signal.aborted) return;
    const delayMs = Math.min(Math.max(wakeMs - this.#options.now(), 1), longestMs);
    this.#wake = setTimeout(() => this.#schedule(), delayMs);
  }

  #beNobody(): void {
    this.#membership.want(undefined);
    this.#hub.reset();
    this.#member.reset();
    this.#progress.reset();
    this.#inquiry.stop();
    if (this.#isWithdrawn) return;
    this.#isWithdrawn = true;
    void this.#member.network.withdraw();
  }

  /** The finalizer comes first: a membership must not outlive the object unseen. */
  #claim({ uid, finalizers }: Interconnect): void {
    void this.#setFinalizers(uid, [...finalizers, interconnectFinalizer]);
  }

  #setFinalizers(uid: string, finalizers: readonly string[]): Promise<unknown> {
    const name = canonicalName;
    return this.#writer.enqueue(`Interconnect/${name}/finalizers`, () =>
      this.#options.client.patch(interconnects, { name }, 'merge', { metadata: { uid, finalizers } }),
    );
  }

  #leave(object: Interconnect): void {
    if (this.#leaving !== undefined) return;
    const run = new AbortController();
    const ended = this.#leaveInOrder(object, AbortSignal.any([this.#signal, run.signal])).finally(() => {
      this.#leaving = undefined;
      // What came after one that was let go has waited for its end.
      if (run.signal.aborted) this.#schedule();
    });
    this.#leaving = { uid: object.uid, run, ended };
  }

  async #leaveInOrder({ uid, spec, finalizers }: Interconnect, signal: AbortSignal): Promise<void> {
    this.#beNobody();
    if (!('code' in spec)) {
      await this.#member.network.withdraw(spec.clusterName, signal);
      await this.#membership.leave(spec.hub, signal);
    }
    if (signal.aborted) return;
    await this.#setFinalizers(
      uid,
      finalizers.filter((name) => name !== interconnectFinalizer),
    );
    this.#options.log.info({}, 'left');
  }

  /** What is to be told of others is better told after the databases have been written. */
  #tell(object: Interconnect | undefined): void {
    const nowMs = this.#options.now();
    const isBusy = this.#progress.isWriting;
    if (isBusy && nowMs - this.#toldMs < busyMs) return;
    this.#toldMs = nowMs;
    this.#telling.tell(object, isBusy, {
      hub: this.#hub,
      member: this.#member,
      link: this.#membership.state,
      progress: this.#progress,
      still: this.#inquiry.still,
      silent: this.#heartbeats.silent,
      nowMs,
    });
  }
}

/** Nothing is different but the time of the check. */
function isHeartbeat(before: GatewayObject | undefined, after: GatewayObject | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  const essence = ({ status, uid, isDrained, isDeleting }: GatewayObject): string =>
    JSON.stringify([uid, isDrained, isDeleting, { ...status, checkedAt: undefined }]);
  return before.checkedAt !== after.checkedAt && essence(before) === essence(after);
}

function openTargets({ northbound, southbound, log }: AgentOptions, onTransaction: () => void) {
  const common = { room, logger: log, onTransaction };
  return {
    // Withdrawing a route is worth a transaction of its own.
    northbound: openOvsdbTarget({ ...common, client: northbound, ownEntries, batchDelayMs: 1 }),
    southbound: openOvsdbTarget({
      ...common,
      client: southbound,
      keyOf: southboundKeyOf,
      ownerOf: southboundOwnerOf,
    }),
  };
}

function isSameWord(before: ReadonlySet<string> | undefined, after: ReadonlySet<string> | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return before.symmetricDifference(after).size === 0;
}
