/**
 * Publishes statuses after each round. In: the observed and settled state. Out: the statuses of only those objects that may
 * have changed. While the databases are written only the Interconnect is published, because
 * the API server would take the cores that the next rows need.
 */
import { hubSwitch } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { EventRecorder } from '../../lib/kube/events.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import type { ObjectWriter } from '../../lib/kube/writer.ts';
import type { Member } from '../apply/member.ts';
import type { Membership } from '../apply/membership.ts';
import type { OvnProbe } from '../apply/ovn-probe.ts';
import type { Pods } from '../apply/pods.ts';
import type { Progress } from '../apply/progress.ts';
import type { Services } from '../apply/services.ts';
import type { ExportExchange } from '../model/export-exchange.ts';
import type { Interconnect } from '../model/objects.ts';
import { wantedMtuOf } from '../model/path-mtu.ts';
import type { ImportedSlice } from '../model/service-objects.ts';
import type { OwnCluster } from '../settle/own-cluster.ts';
import type { RemoteClusters } from '../settle/remote-clusters.ts';
import type { Clusters } from '../state/clusters.ts';
import type { ClusterReader } from '../watch/cluster-reader.ts';
import type { Heartbeats } from '../watch/heartbeats.ts';
import type { Sources } from '../watch/sources.ts';
import { faultOf } from './gateway-health.ts';
import { PodReporter } from './pods.ts';
import { policyFigures } from './policy-figures.ts';
import { Reporter } from './report.ts';
import { RoutePolicyReporter } from './route-policies.ts';
import { ServiceReporter } from './services.ts';
import { SharedAddressReporter } from './shared-addresses.ts';
import type { Situation } from './situation.ts';
import { stuckProblems } from './stuck.ts';
import { Transitions } from './transitions.ts';

/** Where the facts of a situation are. */
export interface PublisherFacts {
  readonly reader: Pick<ClusterReader, 'own' | 'policies'>;
  readonly clusters: Clusters;
  readonly cluster: OwnCluster;
  readonly remotes: RemoteClusters;
  readonly membership: Pick<Membership, 'state'>;
  readonly progress: Progress;
  readonly probe: Pick<OvnProbe, 'stalled'>;
  readonly heartbeats: Pick<Heartbeats, 'silent'>;
  readonly services: Services;
  readonly exchange: Pick<ExportExchange, 'deliveryOf' | 'answerTo'>;
  readonly pods: Pick<Pods, 'entries' | 'stateOf' | 'takeNews'>;
  readonly member: Pick<Member, 'encryption'>;
}

export interface PublisherOptions {
  readonly client: KubeClient;
  readonly writer: ObjectWriter;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly sources: Sources;
  readonly facts: PublisherFacts;
  readonly log: { info(fields: object, message: string): void };
  /** Unix milliseconds. */
  readonly now: () => number;
  /** A status that was held back is due. */
  readonly onDue: () => void;
}

const heldBackMs = 2000;
/** While databases are written the Interconnect is published so often at most. */
const busyMs = 300;

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #reporter: Reporter;
  readonly #policies: RoutePolicyReporter;
  readonly #services: ServiceReporter;
  readonly #shared: SharedAddressReporter;
  readonly #pods: PodReporter;
  readonly #transitions = new Transitions();
  #clusters: Set<string> | 'all' = 'all';
  #later: NodeJS.Timeout | undefined;
  #wasMember = true;
  #publishedMs = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#reporter = new Reporter(options);
    this.#policies = new RoutePolicyReporter(options);
    this.#services = new ServiceReporter({ ...options, ...options.facts });
    this.#shared = new SharedAddressReporter({ ...options, ...options.facts });
    this.#pods = new PodReporter({ ...options, ...options.facts });
  }

  /** Call once the watches are in sync. */
  start(): void {
    this.#services.start();
  }

  sliceSeen(before: ImportedSlice | undefined, after: ImportedSlice | undefined): void {
    this.#services.sliceSeen(before, after);
  }

  seen(kind: string, name: string): void {
    if (kind === 'ServiceExport' || kind === 'ServiceImport' || kind === 'Service')
      return this.#services.seen(kind, name);
    if (kind === 'SharedAddress') return this.#shared.seen(name);
    this.#reporter.seen(kind, name);
    if (kind === 'RemoteCluster') this.clustersChanged([name]);
  }

  clustersChanged(names: Iterable<string>): void {
    if (this.#clusters !== 'all') for (const name of names) this.#clusters.add(name);
  }

  /** These clusters have another state now. */
  settled(names: ReadonlySet<string>): void {
    const { facts, log } = this.#options;
    this.clustersChanged(names);
    for (const transition of this.#transitions.take(names, facts.remotes.view)) log.info({ ...transition }, 'path');
  }

  publish(object: Interconnect | undefined): void {
    const { facts, now } = this.#options;
    const { clusters, cluster, membership, progress } = facts;
    const nowMs = now();
    const isBusy = progress.isWriting;
    if (isBusy && nowMs - this.#publishedMs < busyMs) return;
    this.#publishedMs = nowMs;
    this.#reportServices(object);
    this.clustersChanged(facts.pods.takeNews());
    this.#pods.report(object !== undefined && !object.isDeleting);
    const situation = situationOf(object, facts, nowMs);
    const { local } = situation;
    const isSpecWrong = object !== undefined && 'code' in object.spec;
    // After a start, the written status may be newer than the state of this process.
    const { isFresh } = progress;
    const isMember = local !== undefined && !isFresh;
    if (object !== undefined && (isMember || membership.state.problem !== undefined || isSpecWrong))
      this.#reporter.interconnect(object, situation);
    if (isBusy) return;
    // Without an update from the hub since the start, nothing can replace the written status.
    if (local !== undefined && (isFresh || !clusters.hub.isComplete)) return this.#prepare(situation);
    if (this.#clusters === 'all' || this.#clusters.size > 0) this.#reporter.peers(situation);
    this.#remoteClusters(situation);
    this.#reporter.transitSwitches(situation);
    this.#reporter.gateways(situation, cluster.anchors);
    this.#finalize(situation);
    this.#routePolicies();
  }

  close(): void {
    clearTimeout(this.#later);
    this.#policies.close();
    this.#services.close();
    this.#shared.close();
  }

  /** Objects of Services do not wait for the databases: clients need the addresses that they contain. */
  #reportServices(object: Interconnect | undefined): void {
    const isMember = object !== undefined && !object.isDeleting;
    // Before the hub has answered, nothing is known of the exports of others.
    if (isMember && this.#options.facts.services.local === undefined) return;
    this.#services.report(isMember);
    this.#shared.report(isMember);
  }

  /** Gateways have to be there before anything can be reported of them. */
  #prepare(situation: Situation): void {
    const { facts, sources } = this.#options;
    if (facts.clusters.hub.isComplete) this.#reporter.peers(situation);
    if (sources.gateways.size === 0) this.#reporter.gateways(situation, facts.cluster.anchors);
  }

  #remoteClusters(situation: Situation): void {
    const isMember = situation.local !== undefined;
    const names = isMember === this.#wasMember ? this.#clusters : 'all';
    this.#wasMember = isMember;
    const later = this.#reporter.remoteClusters(names, situation);
    this.#clusters = new Set(later);
    if (later.length === 0) return;
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.#options.onDue();
    }, heldBackMs);
  }

  /** Deleting a transit switch takes this cluster out of it: the object stays until that is done. */
  #finalize({ local }: Situation): void {
    const { facts, sources } = this.#options;
    for (const [name, object] of sources.transitSwitches.entries()) {
      if (name === hubSwitch) continue;
      if (local === undefined) this.#reporter.finalizer(name, object, false);
      else if (!object.isDeleting) this.#reporter.finalizer(name, object, true);
      else if (facts.progress.settledLocal === local && !local.transitRequests.some((request) => request.name === name))
        this.#reporter.finalizer(name, object, false);
    }
  }

  #routePolicies(): void {
    const { facts, sources } = this.#options;
    const policies = new Map(sources.routePolicies.entries());
    if (policies.size === 0) return;
    const figures = policyFigures(facts.remotes.view, facts.cluster.exportDecisions);
    this.#policies.report(policies, facts.reader.policies, figures);
  }
}

function situationOf(object: Interconnect | undefined, facts: PublisherFacts, nowMs: number): Situation {
  const { clusters, cluster, remotes, progress, probe } = facts;
  const { hub, tunnels } = clusters;
  const spec = object?.spec;
  const isWrong = spec !== undefined && 'code' in spec;
  const health = {
    link: facts.membership.state,
    local: facts.reader.own?.local,
    members: hub.members,
    unreachedBy: hub.unreachedBy,
    silent: facts.heartbeats.silent,
    behind: probe.stalled.controllers,
    gatewayOf: (chassis: string) => tunnels.gateway(chassis),
    isDead: (chassis: string) => cluster.isDead(chassis),
  };
  const faultAt = (node: string): Problem | undefined => {
    const chassis = health.local?.gatewayNodes.find((gateway) => gateway.node === node)?.chassis;
    const fault = chassis === undefined ? undefined : faultOf(chassis, health);
    // That its daemon is silent is no reason why ovn-controller does not follow.
    return fault?.isKnown === true ? fault : undefined;
  };
  return {
    ...health,
    isHubKnown: hub.isComplete,
    expected: hub.expected,
    switches: hub.switches,
    rejections: [...hub.rejections, ...clusters.pods.rejections],
    podsOf: (name) => facts.pods.stateOf(name),
    distanceOf: (name) => facts.services.distanceOf(name),
    silentDatabases: hub.silentDatabases,
    stuck: stuckProblems(probe.stalled, faultAt),
    clashes: cluster.clashes,
    networks: cluster.networks,
    networkProblems: cluster.problems,
    blocked: cluster.blocked,
    takeovers: cluster.takeovers,
    remotes: remotes.view,
    cuts: cluster.cuts,
    wantedMtu: wantedMtuOf(spec === undefined || isWrong ? 0 : spec.mtu),
    prefixesOffered: cluster.prefixesOffered,
    encryption: facts.member.encryption.isWanted ? facts.member.encryption.facts : undefined,
    isConverged: progress.isConverged,
    isWaitingForHub: progress.isWaitingForHub,
    clusterSetProblems: facts.services.clusterSetProblems,
    problems: [...(isWrong ? [spec] : []), ...progress.problems],
    nowMs,
  };
}
