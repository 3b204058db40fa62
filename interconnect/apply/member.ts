/**
 * One round of a member: looks at this cluster and the hub's view, decides where each end of each path is to be, says what
 * the hub is to know, and brings the databases in line. In: caches and what changed. Out: the state to tell, the clusters of
 * which something is different. Called by the agent; keeps what must be remembered between rounds.
 */
import type { OvsdbClient } from 'ovsdb-client';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Gateway, MemberState } from '../model/messages.ts';
import type { GatewayClash } from '../settle/clashes.ts';
import { neverMet } from '../settle/never-met.ts';
import { buildNetworks } from '../settle/networks.ts';
import { memberState, publishedGateways } from '../plan/member-state.ts';
import type { EndState, Ends, OwnNetwork } from '../model/networks.ts';
import { takeoverProblem } from '../settle/takeover.ts';
import { compilePolicies, noPolicies, type PolicySet } from '../../lib/route-policy/compile.ts';
import { type Decision, isForClusters } from '../../lib/route-policy/policy.ts';
import { Anchors } from '../settle/anchor-history.ts';
import type { GatewayFacts, PathFacts } from '../model/anchors.ts';
import { Clashes } from '../settle/known-clashes.ts';
import type { Cut } from '../settle/cuts.ts';
import { Cuts } from '../settle/cut-history.ts';
import { noEdges, type Edges } from '../model/edges.ts';
import { Exports } from '../settle/exports.ts';
import type { HubView } from '../state/hub-view.ts';
import { isUsable, type GatewayNode, type LocalView } from '../model/local.ts';
import { Tunnels } from '../state/tunnels.ts';
import {
  isGrouped,
  readChassis,
  readLinks,
  readNextHops,
  readRoutedPrefixes,
  readRemoteGateways,
  readRouterId,
  readRouterOf,
  readWitnesses,
} from '../watch/databases.ts';
import { buildEdges } from '../watch/edges.ts';
import { buildLocal } from '../watch/local.ts';
import { ownHandle, presentAnchors, readHeld, readPathFacts } from '../watch/ports.ts';
import type { Sources } from '../watch/sources.ts';
import type { LinkState } from '../model/link-state.ts';
import { Network, type NetworkTargets } from './network.ts';

export interface MemberOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  readonly targets: NetworkTargets;
  readonly sources: Sources;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Whether databases and northd of this cluster take up what is written. */
  readonly isFollowed: () => boolean;
  /** Whether the ovn-controller of a gateway node takes up nothing. */
  readonly isStuck: (node: string) => boolean;
}

export class LocalMember {
  readonly #options: MemberOptions;
  readonly network: Network;
  readonly tunnels = new Tunnels();
  readonly #anchors = new Anchors();
  readonly #cuts = new Cuts();
  readonly #clashes = new Clashes();
  #policies: PolicySet = noPolicies;
  #local: LocalView | undefined;
  #isLocalStale = true;
  #spec: InterconnectSpec | undefined;
  /** Last seen in the ports of this cluster. */
  #handle: string | undefined;
  #ends = new Map<string, Ends>();
  #networks: ReadonlyMap<string, OwnNetwork> = new Map();
  #problems: ReadonlyMap<string, Problem> = new Map();
  #blocked: ReadonlyMap<string, string> = new Map();
  #takeovers: ReadonlyMap<string, Problem> = new Map();
  readonly #exports = new Exports();
  #edges: Edges = noEdges;
  #areEdgesStale = true;
  #endsText = '';
  #carried: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  #routed: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  #written: ReadonlyMap<string, readonly Gateway[]> | undefined;
  /** Clusters that changed since the last round. */
  #dirty: Set<string> | 'all' = 'all';

  constructor(options: MemberOptions) {
    this.#options = options;
    this.network = new Network(options.targets);
  }

  get local(): LocalView | undefined {
    return this.#local;
  }
  get networks(): ReadonlyMap<string, OwnNetwork> {
    return this.#networks;
  }
  /** Of networks, by name. */
  get problems(): ReadonlyMap<string, Problem> {
    return this.#problems;
  }
  /** `<network>/<path>` → why its anchor does not move. */
  get blocked(): ReadonlyMap<string, string> {
    return this.#blocked;
  }
  /** By logical switch: why nobody would take its port over, on paths that others share. */
  get takeovers(): ReadonlyMap<string, Problem> {
    return this.#takeovers;
  }
  /** Gateways that are another's too. */
  get clashes(): readonly GatewayClash[] {
    return this.#clashes.list;
  }
  get policies(): PolicySet {
    return this.#policies;
  }
  get exportDecisions(): readonly Decision[] {
    return this.#exports.decisions;
  }
  get prefixesOffered(): number {
    return this.#exports.count;
  }
  /** Chassis that are first in some order. */
  get anchors(): ReadonlySet<string> {
    return this.#anchors.anchors();
  }
  /** Gateways whose ovn-controller should follow: those that are lost are told of otherwise. */
  get followers(): readonly GatewayNode[] {
    return this.#local?.gatewayNodes.filter(({ chassis }) => !this.isDead(chassis)) ?? [];
  }
  /** Gateways of this cluster that do not hear each other. */
  get cuts(): readonly Cut[] {
    return this.#cuts.view.cuts;
  }
  /** Whether a chassis of this cluster lost a port for long and has not come back. */
  isDead(chassis: string): boolean {
    return this.#anchors.isDead(chassis) || this.#cuts.view.lost.has(chassis);
  }
  /** When something is due though nothing happens; Infinity for never. */
  get wakeMs(): number {
    return Math.min(this.network.wakeMs, this.#anchors.wakeMs ?? Infinity, this.#cuts.wakeMs);
  }

  /** Nodes, subnets, chassis, wishes or drains changed. */
  localChanged(): void {
    this.#isLocalStale = true;
    this.#areEdgesStale = true;
  }

  /** What speakers learned changed. */
  edgesChanged(): void {
    this.#areEdgesStale = true;
  }

  clustersChanged(names: Iterable<string>): void {
    if (this.#dirty !== 'all') for (const name of names) this.#dirty.add(name);
  }

  /** This cluster as it is now, and what the hub is to know of it. */
  observe(
    spec: InterconnectSpec,
    hub: HubView,
    link: Pick<LinkState, 'isConnected' | 'cluster'>,
  ): Omit<MemberState, 'revision'> {
    // What the hub calls it counts, not what it is to be called.
    const local = this.#observeLocal(spec, link.cluster ?? spec.clusterName, hub);
    this.#policies = compilePolicies(
      [...this.#options.sources.routePolicies.entries()].map(([, policy]) => policy).filter(isForClusters),
      this.#policies,
    );
    this.#observeEdges();
    this.#clashes.update(local, hub);
    this.#step(local, hub, link);
    const { natives } = this.network;
    this.#exports.update({ local, policies: this.#policies, edges: this.#edges, natives });
    return memberState({
      local,
      endsOf: (network) => this.#endsOf(network),
      heldOf: (network) => readHeld(this.#options.northbound.cache, local.handle, network, hub),
      prefixesOf: (wish) => this.#exports.on(wish.name),
      gateways: this.#published(local),
      unreachable: [...this.network.remotes.unreachable, ...neverMet(hub, () => this.#atStart)],
    });
  }

  /** The state that `observe` returned was told as `revision`. */
  told(revision: number): void {
    this.#anchors.told(revision);
  }

  /** Brings the databases in line; returns the clusters of which something is different. */
  apply(hub: HubView): ReadonlySet<string> {
    const [local, spec] = [this.#local, this.#spec];
    if (local === undefined || spec === undefined) return new Set();
    const { networks, problems } = buildNetworks(local, hub.switches, (network) => this.#endsOf(network));
    this.#networks = networks;
    this.#problems = problems;
    this.#takeovers = this.#observeTakeovers(local, hub);
    const text = endsText(networks);
    const dirty = text === this.#endsText ? this.#dirty : 'all';
    this.#endsText = text;
    this.#dirty = new Set();
    return this.network.apply(
      {
        local,
        gateways: this.#published(local),
        networks,
        members: hub.members,
        expected: hub.expected,
        policies: this.#policies,
        edges: this.#edges,
        aggregates: this.#exports.aggregates,
        tunnel: (own, other) => this.tunnels.state(own, other),
        carried: (cluster) => this.#atStart.get(cluster),
        routed: (handle) => this.#routedAtStart.get(handle),
        written: (handle) => this.#writtenAtStart.get(handle) ?? [],
        isGrouped: (chassis) => isGrouped(this.#options.southbound.cache, chassis),
        time: { nowMs: this.#options.now(), holdDownMs: holdDownMsOf(spec) },
      },
      dirty,
    );
  }

  /** Nothing is remembered; what is in the databases stays. */
  reset(): void {
    this.#anchors.clear();
    this.#cuts.clear();
    this.#clashes.clear();
    this.#local = undefined;
    this.#handle = undefined;
    this.#isLocalStale = true;
    this.#networks = new Map();
    this.#problems = new Map();
    this.#blocked = new Map();
    this.#takeovers = new Map();
    this.#ends = new Map();
    this.#exports.clear();
    this.#endsText = '';
    this.#dirty = 'all';
  }

  #observeLocal(spec: InterconnectSpec, cluster: string, hub: HubView): LocalView {
    const { northbound, southbound, sources } = this.#options;
    if (hub.isComplete || this.#handle === undefined) this.#handle = ownHandle(northbound.cache, hub);
    const names = { cluster, handle: this.#handle ?? cluster };
    const isNamed = this.#local?.cluster === names.cluster && this.#local.handle === names.handle;
    if (this.#local !== undefined && !this.#isLocalStale && isNamed && this.#spec === spec) return this.#local;
    this.#isLocalStale = false;
    this.#spec = spec;
    this.#local = buildLocal(
      {
        spec,
        names,
        routerIdOf: (vpc) => readRouterId(northbound.cache, vpc),
        joinedRouter: (network) => readRouterOf(northbound.cache, names.handle, network),
        linksOf: (vpc) => readLinks(northbound.cache, vpc),
        subnets: sources.subnets.entries(),
        nodes: sources.nodes.entries(),
        chassis: readChassis(southbound.cache),
        transitSwitches: sources.transitSwitches.entries(),
        isDrained: (node) => sources.gateways.get(node)?.isDrained === true,
      },
      this.#local,
    );
    return this.#local;
  }

  #observeEdges(): void {
    if (!this.#areEdgesStale) return;
    this.#areEdgesStale = false;
    const { nodes, bgpNodeStates } = this.#options.sources;
    // Where none looks well, it may be that only nobody hears of them.
    const isAnyReady = [...nodes.entries()].some(([, { isReady }]) => isReady);
    const isReady = (node: string): boolean => !isAnyReady || nodes.get(node)?.isReady === true;
    this.#edges = buildEdges({ states: bgpNodeStates.entries(), isReady }, this.#edges);
  }

  /** What the database routed to other clusters when this process first looked. */
  get #atStart(): ReadonlyMap<string, ReadonlySet<string>> {
    return (this.#carried ??= readNextHops(this.#options.northbound.cache));
  }

  get #routedAtStart(): ReadonlyMap<string, ReadonlySet<string>> {
    return (this.#routed ??= readRoutedPrefixes(this.#options.northbound.cache));
  }

  /** Chassis of other clusters when this process first looked. */
  get #writtenAtStart(): ReadonlyMap<string, readonly Gateway[]> {
    return (this.#written ??= readRemoteGateways(this.#options.southbound.cache));
  }

  /** One step of every path's anchor. */
  #step(local: LocalView, hub: HubView, { isConnected }: { readonly isConnected: boolean }): void {
    const nowMs = this.#options.now();
    const gateways = this.#gatewayFacts(local, hub);
    const blocked = new Map<string, string>();
    const ends = new Map<string, Ends>();
    const caches = { northbound: this.#options.northbound.cache, southbound: this.#options.southbound.cache };
    const networks = local.wishes.map(({ name }): [string, readonly PathFacts[]] => [
      name,
      readPathFacts(caches, local.handle, name, hub),
    ]);
    const cuts = this.#cuts.step({
      reports: gateways.map(({ chassis }) => this.tunnels.report(chassis)),
      ports: networks.flatMap(([name, paths]) =>
        paths.map(({ index, holder, present: [anchor] }) => ({ key: `${name}/${index}`, holder, anchor })),
      ),
      nowMs,
    });
    for (const [name, paths] of networks) {
      const { memories, ...step } = this.#anchors.step(name, {
        paths,
        gateways,
        cuts,
        hub: { isConnected: isConnected && hub.isComplete, knownRevision: hub.revision },
        isFollowed: this.#options.isFollowed(),
        nowMs,
        holdDownMs: this.#spec === undefined ? 0 : holdDownMsOf(this.#spec),
      });
      for (const [index, reason] of step.blocked) blocked.set(`${name}/${index}`, reason);
      const own = paths.map(({ index, holder }): [number, EndState] => {
        const { order = [], phase = 'settled' } = memories.get(index) ?? {};
        return [index, { index, order, holder, phase }];
      });
      ends.set(name, new Map(own));
    }
    this.#anchors.keepOnly(new Set(local.wishes.map(({ name }) => name)), nowMs);
    this.#ends = ends;
    this.#blocked = blocked;
  }

  /** Those selected, and those no more that are still first somewhere. What the hub refused, the others know no way to. */
  #gatewayFacts(local: LocalView, hub: HubView): readonly GatewayFacts[] {
    const refused = new Set(hub.rejections.flatMap(({ kind, value }) => (kind === 'gateway' ? [value] : [])));
    const isAnyTaken = local.gatewayNodes.some(({ chassis }) => isUsable(local, chassis) && !refused.has(chassis));
    const selected = new Map(local.gatewayNodes.map((gateway) => [gateway.chassis, gateway]));
    const anchors = this.anchors.size > 0 ? this.anchors : presentAnchors(this.#options.northbound.cache, local);
    const leaving = [...anchors].filter((chassis) => !selected.has(chassis) && local.chassis.has(chassis));
    return [...selected.keys(), ...leaving].map((chassis) => ({
      chassis,
      isSelected: selected.has(chassis),
      isDrained: selected.get(chassis)?.isDrained === true,
      // Where it refused all of them nothing is better than what there is.
      isUsable: isUsable(local, chassis) && !(isAnyTaken && refused.has(chassis)),
      isGone: !local.chassis.has(chassis),
      upSinceMs: this.tunnels.upSinceMs(chassis),
    }));
  }

  #observeTakeovers(local: LocalView, hub: HubView): ReadonlyMap<string, Problem> {
    const { cache } = this.#options.southbound;
    const nodes = new Map(local.gatewayNodes.map(({ chassis, node }) => [chassis, node]));
    const shared = new Set([...hub.members.values()].flatMap(({ ports }) => ports.map((port) => port.switch)));
    const paths = [...this.#networks.values()].flatMap((network) => network.paths);
    const found = new Map<string, Problem>();
    for (const path of paths) {
      if (path.isRetiring || !shared.has(path.switch)) continue;
      const problem = takeoverProblem(path, {
        reportOf: (chassis) => this.tunnels.report(chassis),
        isDead: (chassis) => this.isDead(chassis),
        isStuck: (chassis) => this.#isStuck(nodes.get(chassis) ?? ''),
        witnesses: readWitnesses(cache, local.handle, path.switch),
        isPlainNode: (chassis) => local.chassis.has(chassis) && !nodes.has(chassis),
      });
      if (problem !== undefined) found.set(path.switch, problem);
    }
    return found;
  }

  /** As the databases show where something was written, and as its daemon says at any time. */
  #isStuck(node: string): boolean {
    return this.#options.isStuck(node) || this.#options.sources.nodes.get(node)?.hasNetwork === false;
  }

  #published(local: LocalView): readonly string[] {
    return publishedGateways(local, this.anchors);
  }

  #endsOf(network: string): Ends {
    return this.#ends.get(network) ?? new Map<number, EndState>();
  }
}

function holdDownMsOf({ failback }: InterconnectSpec): number {
  return failback.holdDownSeconds * 1000;
}

/** What of this cluster's ends the paths to all others depend on. */
function endsText(networks: ReadonlyMap<string, OwnNetwork>): string {
  return JSON.stringify(
    [...networks.values()].map(({ name, paths }) => [
      name,
      paths.map(({ switch: path, order, holder, phase, isRetiring }) => [path, order, holder, phase, isRetiring]),
    ]),
  );
}
