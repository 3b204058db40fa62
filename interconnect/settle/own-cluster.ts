/**
 * The decisions about this cluster: which gateway anchors which path, which networks the hub granted, which prefixes are
 * offered to other clusters. In: the state of this cluster, of the hub and of the databases. Out: settled values that plans
 * and statuses read. Pure except for its memory: the time is a parameter. A round settles twice: the part that is sent to
 * the hub first, and the networks after the hub has answered.
 */
import type { Problem } from '../../lib/desired/problem.ts';
import type { PolicySet } from '../../lib/route-policy/compile.ts';
import type { Decision } from '../../lib/route-policy/policy.ts';
import type { GatewayFacts, PathFacts } from '../model/anchors.ts';
import type { DatabaseFacts } from '../model/database-facts.ts';
import type { Edges } from '../model/edges.ts';
import { isUsable, type GatewayNode, type LocalView } from '../model/local.ts';
import type { EndState, Ends, OwnNetwork } from '../model/networks.ts';
import type { HubView } from '../state/hub-view.ts';
import type { Tunnels } from '../state/tunnels.ts';
import { AnchorHistory } from './anchor-history.ts';
import type { GatewayClash } from './clashes.ts';
import { CutHistory } from './cut-history.ts';
import type { Cut } from './cuts.ts';
import { Exports } from './exports.ts';
import { KnownClashes } from './known-clashes.ts';
import { buildNetworks } from './networks.ts';
import type { RemoteClusters } from './remote-clusters.ts';
import { takeoverProblem } from './takeover.ts';

export interface OwnClusterOptions {
  readonly remotes: RemoteClusters;
  readonly tunnels: Tunnels;
  /** Whether databases and northd of this cluster apply writes. */
  readonly isFollowed: () => boolean;
  /** Whether the ovn-controller of a gateway node applies nothing. */
  readonly isStuck: (node: string) => boolean;
}

export interface OwnFacts {
  readonly local: LocalView;
  readonly policies: PolicySet;
  readonly edges: Edges;
  readonly hub: HubView;
  /** A session with the hub is open. */
  readonly isConnected: boolean;
  readonly databases: DatabaseFacts;
  readonly nowMs: number;
  readonly holdDownMs: number;
}

export class OwnCluster {
  readonly #options: OwnClusterOptions;
  readonly #anchors = new AnchorHistory();
  readonly #cuts = new CutHistory();
  readonly #clashes = new KnownClashes();
  readonly #exports = new Exports();
  #local: LocalView | undefined;
  #ends: ReadonlyMap<string, Ends> = new Map();
  #endsText = '';
  #networks: ReadonlyMap<string, OwnNetwork> = new Map();
  #problems: ReadonlyMap<string, Problem> = new Map();
  #blocked: ReadonlyMap<string, string> = new Map();
  #takeovers: ReadonlyMap<string, Problem> = new Map();

  constructor(options: OwnClusterOptions) {
    this.#options = options;
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
  /** By logical switch: why no gateway would take its port over, on paths that others share. */
  get takeovers(): ReadonlyMap<string, Problem> {
    return this.#takeovers;
  }
  /** Gateways whose name or address another node has too. */
  get clashes(): readonly GatewayClash[] {
    return this.#clashes.list;
  }
  get exports(): Pick<Exports, 'on' | 'aggregates'> {
    return this.#exports;
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
  /** Gateways whose ovn-controller should apply changes: lost ones are reported on their own. */
  get liveGateways(): readonly GatewayNode[] {
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
  /** When a step is due even without a change; Infinity for never. */
  get wakeMs(): number {
    return Math.min(this.#options.remotes.wakeMs, this.#anchors.wakeMs ?? Infinity, this.#cuts.wakeMs);
  }

  endsOf(network: string): Ends {
    return this.#ends.get(network) ?? new Map<number, EndState>();
  }

  settleOwn(facts: OwnFacts): void {
    const { local, policies, edges, hub } = facts;
    this.#local = local;
    this.#clashes.update(local, hub);
    this.#settleEnds(facts);
    this.#exports.update({ local, policies, edges, natives: this.#options.remotes.natives });
  }

  /** The hub was sent the own part as `revision`. */
  announced(revision: number): void {
    this.#anchors.announced(revision);
  }

  /** Returns whether the paths to all other clusters depend on something that changed. */
  settleNetworks(local: LocalView, hub: HubView, databases: DatabaseFacts): boolean {
    const { networks, problems } = buildNetworks(local, hub.switches, (network) => this.endsOf(network));
    this.#networks = networks;
    this.#problems = problems;
    this.#takeovers = this.#settleTakeovers(local, hub, databases);
    const text = endsText(networks);
    const isChanged = text !== this.#endsText;
    this.#endsText = text;
    return isChanged;
  }

  /** Forgets all state. The rows in the databases stay. */
  reset(): void {
    this.#anchors.clear();
    this.#cuts.clear();
    this.#clashes.clear();
    this.#exports.clear();
    this.#local = undefined;
    this.#ends = new Map();
    this.#endsText = '';
    this.#networks = new Map();
    this.#problems = new Map();
    this.#blocked = new Map();
    this.#takeovers = new Map();
  }

  /** One step of every path's anchor. */
  #settleEnds(facts: OwnFacts): void {
    const { local, hub, isConnected, databases, nowMs, holdDownMs } = facts;
    const gateways = this.#gatewayFacts(facts);
    const blocked = new Map<string, string>();
    const ends = new Map<string, Ends>();
    const networks = local.transitRequests.map(({ name }): [string, readonly PathFacts[]] => [
      name,
      databases.pathsOf(name),
    ]);
    const cuts = this.#cuts.step({
      reports: gateways.map(({ chassis }) => this.#options.tunnels.report(chassis)),
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
        holdDownMs,
      });
      for (const [index, reason] of step.blocked) blocked.set(`${name}/${index}`, reason);
      const own = paths.map(({ index, holder }): [number, EndState] => {
        const { order = [], phase = 'settled' } = memories.get(index) ?? {};
        return [index, { index, order, holder, phase }];
      });
      ends.set(name, new Map(own));
    }
    this.#anchors.keepOnly(new Set(local.transitRequests.map(({ name }) => name)), nowMs);
    this.#ends = ends;
    this.#blocked = blocked;
  }

  /** Gateways that are selected, and others that are still first somewhere. The others know no way to one that the hub refused. */
  #gatewayFacts({ local, hub, databases }: OwnFacts): readonly GatewayFacts[] {
    const refused = new Set(hub.rejections.flatMap(({ kind, value }) => (kind === 'gateway' ? [value] : [])));
    const isAnyTaken = local.gatewayNodes.some(({ chassis }) => isUsable(local, chassis) && !refused.has(chassis));
    const selected = new Map(local.gatewayNodes.map((gateway) => [gateway.chassis, gateway]));
    const anchors = this.anchors.size > 0 ? this.anchors : databases.firstChassis();
    const leaving = [...anchors].filter((chassis) => !selected.has(chassis) && local.chassis.has(chassis));
    return [...selected.keys(), ...leaving].map((chassis) => ({
      chassis,
      isSelected: selected.has(chassis),
      isDrained: selected.get(chassis)?.isDrained === true,
      // If the hub refused all of them, none is better than the present ones.
      isUsable: isUsable(local, chassis) && !(isAnyTaken && refused.has(chassis)),
      isGone: !local.chassis.has(chassis),
      upSinceMs: this.#options.tunnels.upSinceMs(chassis),
    }));
  }

  #settleTakeovers(local: LocalView, hub: HubView, databases: DatabaseFacts): ReadonlyMap<string, Problem> {
    const { tunnels, isStuck } = this.#options;
    const nodes = new Map(local.gatewayNodes.map(({ chassis, node }) => [chassis, node]));
    const shared = new Set([...hub.members.values()].flatMap(({ ports }) => ports.map((port) => port.switch)));
    const paths = [...this.#networks.values()].flatMap((network) => network.paths);
    const found = new Map<string, Problem>();
    for (const path of paths) {
      if (path.isRetiring || !shared.has(path.switch)) continue;
      const problem = takeoverProblem(path, {
        reportOf: (chassis) => tunnels.report(chassis),
        isDead: (chassis) => this.isDead(chassis),
        isStuck: (chassis) => isStuck(nodes.get(chassis) ?? ''),
        witnesses: databases.witnessesOf(path.switch),
        isPlainNode: (chassis) => local.chassis.has(chassis) && !nodes.has(chassis),
      });
      if (problem !== undefined) found.set(path.switch, problem);
    }
    return found;
  }
}

/** The state of this cluster's ends that the paths to all others depend on. */
function endsText(networks: ReadonlyMap<string, OwnNetwork>): string {
  return JSON.stringify(
    [...networks.values()].map(({ name, paths }) => [
      name,
      paths.map(({ switch: path, order, holder, phase, isRetiring }) => [path, order, holder, phase, isRetiring]),
    ]),
  );
}
