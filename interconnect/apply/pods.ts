/**
 * Pods that policies name across clusters. In: policies of this cluster, its pods, and the sets of the others. Out: what is sent to the hub, and for each other cluster the
 * entries of its RemotePodSlices. Called by the round. Rule: what is not known yet changes nothing, so that a start writes nothing.
 */
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { RemotePod } from '../../lib/api/kinds/remote-pod-slice.ts';
import { entryOf } from '../../lib/desired/entry-of.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import { remotePodSets } from '../../lib/slices/remote-pods.ts';
import type { Edges } from '../model/edges.ts';
import type { LocalView } from '../model/local.ts';
import type { MemberState } from '../model/messages.ts';
import type { PodSet, WantedSet } from '../model/pod-sets.ts';
import { podEntries } from '../plan/pods/entries.ts';
import type { SelectedPods } from '../settle/pods/selected-pods.ts';
import { wantedSets } from '../settle/pods/wanted-sets.ts';
import type { RemoteChanges, RemoteClusters } from '../settle/remote-clusters.ts';
import { Reach } from '../settle/services/reach.ts';
import type { Clusters } from '../state/clusters.ts';
import type { PodsWatch } from '../watch/pods.ts';
import { policyPeersOf, type Sources } from '../watch/sources.ts';
import type { Membership } from './membership.ts';

const mostJudged = 500_000;

export interface PodsOptions {
  readonly watch: Pick<PodsWatch, 'start' | 'isSynced'>;
  readonly sources: Pick<
    Sources,
    | 'namespaces'
    | 'networkPolicyPeers'
    | 'clusterPolicyPeers'
    | 'adminPolicyPeers'
    | 'baselinePolicyPeers'
    | 'remotePodSlices'
    | 'subnets'
  >;
  readonly clusters: Pick<Clusters, 'hub' | 'pods'>;
  readonly remotes: Pick<RemoteClusters, 'view'>;
  readonly membership: Pick<Membership, 'sendPods' | 'arePodsSettled'>;
  readonly selected: SelectedPods;
}

/** What policies know of the pods of a cluster. */
export interface PodsState {
  /** Sets that they ask it for. */
  readonly wanted: number;
  /** Those that have not arrived. */
  readonly pending: number;
  /** Why others are not sent, by reason. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly since: string | undefined;
  /** Its agent sends no pods. */
  readonly isUnsupported: boolean;
}

export class Pods {
  readonly #options: PodsOptions;
  /** The prefixes of each cluster, whether a path to it is up or not. */
  readonly #owned = new Reach(false);
  /** By VPC, cluster and address, until prefixes change: most addresses of a large set are the same in the next round. */
  readonly #judged = new Map<string, boolean>();
  readonly #entries = new Map<string, readonly RemotePod[]>();
  readonly #states = new Map<string, string>();
  #wanted: readonly WantedSet[] = [];
  #wantedText = '[]';
  #local: LocalView | undefined;
  #edges: Edges | undefined;
  /** By cluster: the sets that it is asked for. */
  #wantedBy: ReadonlyMap<string, readonly string[]> = new Map();
  #areKeptNew = true;
  #arePeersNew = true;
  #isRestored = false;
  #asked: unknown;
  #hubUpdates = -1;
  #news = new Set<string>();
  /** Clusters that are asked for other sets now. */
  #changed = new Set<string>();

  constructor(options: PodsOptions) {
    this.#options = options;
  }

  /** By cluster; undefined before anything is known of the others. */
  get entries(): ReadonlyMap<string, readonly RemotePod[]> | undefined {
    return this.#local === undefined ? undefined : this.#entries;
  }

  /** Undefined if policies ask the cluster for nothing, or if nothing is known yet. */
  stateOf(cluster: string): PodsState | undefined {
    const { clusters } = this.#options;
    const ids = this.#wantedOf(cluster);
    if (ids.length === 0 || this.#local === undefined) return undefined;
    const isUnsupported = clusters.hub.members.get(cluster)?.lacksPods === true;
    const refusals = new Map<string, number>();
    let pending = 0;
    for (const id of ids) {
      const set = clusters.pods.get(cluster, id);
      if (set === undefined) pending += 1;
      else if (set.refusal !== '') refusals.set(set.refusal, (refusals.get(set.refusal) ?? 0) + 1);
    }
    return { wanted: ids.length, pending, refusals, since: this.#sinceOf(cluster), isUnsupported };
  }

  /** Clusters of which `stateOf` is different since the last call. */
  takeNews(): ReadonlySet<string> {
    const news = this.#news;
    this.#news = new Set();
    return news;
  }

  policiesChanged(): void {
    this.#arePeersNew = true;
  }

  namespaceChanged(name: string): void {
    const namespace = this.#options.sources.namespaces.get(name);
    this.#options.selected.setNamespace(name, namespace?.labels);
  }

  /** Settles what this cluster wants and sends. `state`: what it offers. */
  observe(spec: InterconnectSpec, { cluster }: LocalView, state: Pick<MemberState, 'attachments'>): void {
    const { watch, sources, clusters, membership, selected } = this.#options;
    this.#restore();
    this.#settleWanted(cluster);
    if (clusters.pods.asked.length > 0) watch.start();
    if (this.#asked !== clusters.pods.asked) selected.setAsked(clusters.pods.asked);
    this.#asked = clusters.pods.asked;
    const { enabled, namespaceSelector } = spec.sharePods;
    selected.setSharing({ isShared: enabled, namespaces: namespaceSelector });
    const offered = state.attachments.flatMap(({ vpc, prefixes }) =>
      prefixes.flatMap(({ origin, cidr }) => (origin === learnedOrigin ? [] : [{ vpc, cidr }])),
    );
    selected.setOffers(offered, sources.subnets.entries());
    // Selectors that list no clusters name those that the hub knows.
    if (!clusters.hub.isComplete) return;
    membership.sendPods(this.#wanted, watch.isSynced || !enabled ? selected.sets() : new Map<string, PodSet>());
    this.#forgetUnwanted();
  }

  /** Call after the other clusters were settled. */
  apply(local: LocalView, edges: Edges, { changed, gone }: RemoteChanges): void {
    const { clusters, remotes } = this.#options;
    let isOwnedNew = this.#local === undefined;
    if (local !== this.#local || edges !== this.#edges) isOwnedNew = this.#owned.setOwn(local, edges) || isOwnedNew;
    const areVpcsNew =
      this.#local === undefined || [...this.#local.vpcs.keys()].join() !== [...local.vpcs.keys()].join();
    this.#local = local;
    this.#edges = edges;
    for (const name of new Set([...changed, ...gone]))
      if (this.#owned.setCluster(name, remotes.view.get(name)?.uses)) isOwnedNew = true;
    if (isOwnedNew) this.#judged.clear();
    const dirty = new Set([...clusters.pods.takeDirty(), ...this.#changed]);
    this.#changed.clear();
    if (isOwnedNew || areVpcsNew) for (const name of this.#clustersWanted()) dirty.add(name);
    for (const name of this.#clustersWanted()) if (this.#isStateNew(name)) dirty.add(name);
    for (const name of this.#states.keys()) if (this.#isStateNew(name)) dirty.add(name);
    for (const name of dirty) this.#plan(name, local);
  }

  /** This cluster is not a member any more. */
  withdraw(): void {
    const { clusters } = this.#options;
    clusters.pods.reset();
    this.#owned.clear();
    this.#judged.clear();
    this.#entries.clear();
    this.#states.clear();
    this.#local = undefined;
    this.#edges = undefined;
    this.#arePeersNew = true;
    this.#areKeptNew = true;
  }

  /** The sets that an earlier process received, before anything is asked for. */
  #restore(): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    const { sources, clusters } = this.#options;
    const slices = [...sources.remotePodSlices.entries()].map(([, slice]) => slice);
    for (const [cluster, own] of Map.groupBy(slices, ({ owner }) => owner.name)) {
      const sets = remotePodSets(own.flatMap(({ entries }) => entries));
      const known = [...sets].map(([id, { addresses, reason = '' }]): readonly [string, PodSet] => [
        id,
        { addresses: new Set([...addresses.values()].flat()), refusal: reason },
      ]);
      clusters.pods.restore(cluster, new Map(known));
    }
    for (const [name] of sources.namespaces.entries()) this.namespaceChanged(name);
  }

  #settleWanted(ownCluster: string): void {
    const { sources, clusters } = this.#options;
    const { hub, pods } = clusters;
    if (!this.#arePeersNew && hub.updates === this.#hubUpdates) return;
    this.#arePeersNew = false;
    this.#hubUpdates = hub.updates;
    // A set of a cluster that has left is not wanted: one that joins under its name does not have these addresses.
    const known = [...new Set([...hub.members.keys(), ...hub.expected])];
    const wanted = wantedSets({
      peers: policyPeersOf(sources).flatMap((reflector) => [...reflector.entries()].map(([, peers]) => peers)),
      ownCluster,
      clusters: known,
      isKnown: (id) => known.some((name) => pods.get(name, id) !== undefined),
    });
    const text = JSON.stringify(wanted);
    if (text === this.#wantedText) return;
    this.#wantedText = text;
    this.#wanted = wanted;
    const wantedBy = new Map<string, string[]>();
    for (const { id, clusters: names } of wanted) for (const name of names) entryOf(wantedBy, name, () => []).push(id);
    // Those that it names no more are planned once more.
    for (const name of this.#wantedBy.keys()) this.#changed.add(name);
    this.#wantedBy = wantedBy;
    for (const name of wantedBy.keys()) this.#changed.add(name);
    this.#areKeptNew = true;
  }

  /**
   * Not before the hub has answered to a list without them: changes of a set may be on the way, and a set that is wanted again meanwhile is sent whole only by
   * a hub that has read that it was not wanted.
   */
  #forgetUnwanted(): void {
    const { clusters, membership } = this.#options;
    if (!this.#areKeptNew || !membership.arePodsSettled) return;
    this.#areKeptNew = false;
    clusters.pods.keep((cluster, id) => this.#wantedOf(cluster).includes(id));
  }

  #wantedOf(cluster: string): readonly string[] {
    return this.#wantedBy.get(cluster) ?? [];
  }

  #clustersWanted(): Iterable<string> {
    return this.#wantedBy.keys();
  }

  #sinceOf(cluster: string): string | undefined {
    const member = this.#options.clusters.hub.members.get(cluster);
    if (member === undefined || member.foreign || member.connected || member.lastSeenMs === 0) return undefined;
    return new Date(member.lastSeenMs).toISOString();
  }

  #isStateNew(cluster: string): boolean {
    const state = this.stateOf(cluster);
    const text = state === undefined ? '' : JSON.stringify({ ...state, refusals: [...state.refusals] });
    if ((this.#states.get(cluster) ?? '') === text) return false;
    if (text === '') this.#states.delete(cluster);
    else this.#states.set(cluster, text);
    this.#news.add(cluster);
    return true;
  }

  #plan(cluster: string, local: LocalView): void {
    const { hub, pods } = this.#options.clusters;
    if (!hub.members.has(cluster)) {
      // If the hub waits for the cluster, its prefixes are not known here yet, and what was written stays. Otherwise it has left.
      if (!hub.expected.has(cluster)) this.#entries.delete(cluster);
      return;
    }
    const sets = this.#wantedOf(cluster).flatMap((id) => {
      const set = pods.get(cluster, id);
      return set === undefined ? [] : [[id, set] as const];
    });
    const entries = podEntries({
      sets,
      vpcs: [...local.vpcs.keys()],
      isOf: (vpc, address) => this.#isOf(vpc, cluster, address),
      since: this.#sinceOf(cluster),
    });
    this.#entries.set(cluster, entries);
  }

  #isOf(vpc: string, cluster: string, address: string): boolean {
    const key = `${vpc} ${cluster} ${address}`;
    let isOf = this.#judged.get(key);
    if (isOf === undefined) {
      // Addresses of pods that are gone.
      if (this.#judged.size >= mostJudged) this.#judged.clear();
      isOf = this.#owned.reaches(vpc, cluster, address);
      this.#judged.set(key, isOf);
    }
    return isOf;
  }
}
