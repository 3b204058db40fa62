/**
 * Reads this cluster from its Kubernetes objects and its databases. In: reflectors, caches, and which of them changed. Out: values that
 * stay the same JavaScript objects until one of their sources changes, so that results computed from them stay valid. Called by the round.
 */
import type { OvsdbClient } from 'ovsdb-client';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import { compilePolicies, noPolicies, type PolicySet } from '../../lib/route-policy/compile.ts';
import { isForClusters } from '../../lib/route-policy/policy.ts';
import type { DatabaseFacts } from '../model/database-facts.ts';
import { noEdges, type Edges } from '../model/edges.ts';
import type { LocalView } from '../model/local.ts';
import type { Gateway } from '../model/messages.ts';
import {
  isGrouped,
  readChassis,
  readLinks,
  readNextHops,
  readRemoteGateways,
  readRoutedPrefixes,
  readRouterId,
  readRouterOf,
  readWitnesses,
} from './databases.ts';
import { areShared, buildEdges } from './edges.ts';
import { buildLocal } from './local.ts';
import { ownHandle, presentAnchors, readHeld, readPathFacts, type Granted } from './ports.ts';
import type { Sources } from './sources.ts';

export interface ClusterReaderOptions {
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  readonly sources: Sources;
}

/** This cluster, read from its Kubernetes objects. */
export interface OwnObjects {
  readonly spec: InterconnectSpec;
  readonly local: LocalView;
  readonly policies: PolicySet;
  readonly edges: Edges;
}

export class ClusterReader {
  readonly #options: ClusterReaderOptions;
  #own: OwnObjects | undefined;
  #isLocalStale = true;
  /** The handle in the names of this cluster's ports, as last read. */
  #handle: string | undefined;
  #edges: Edges = noEdges;
  #areEdgesStale = true;
  #policies: PolicySet = noPolicies;
  #carried: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  #routed: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  #gateways: ReadonlyMap<string, readonly Gateway[]> | undefined;

  constructor(options: ClusterReaderOptions) {
    this.#options = options;
  }

  /** The values read last; undefined before the first reading, and while this cluster is not a member. */
  get own(): OwnObjects | undefined {
    return this.#own;
  }
  get policies(): PolicySet {
    return this.#policies;
  }

  /** Nodes, subnets, chassis, transit switches or drains changed. */
  localChanged(): void {
    this.#isLocalStale = true;
    this.#areEdgesStale = true;
  }

  /** The routes that speakers learned changed. */
  edgesChanged(): void {
    this.#areEdgesStale = true;
  }

  /** `cluster`: the name of this cluster at the hub. */
  read(spec: InterconnectSpec, cluster: string, hub: Granted): OwnObjects {
    const local = this.#readLocal(spec, cluster, hub);
    const policies = [...this.#options.sources.routePolicies.entries()].map(([, policy]) => policy);
    this.#policies = compilePolicies(policies.filter(isForClusters), this.#policies);
    this.#readEdges();
    this.#own = { spec, local, policies: this.#policies, edges: this.#edges };
    return this.#own;
  }

  databases(local: LocalView, hub: Granted): DatabaseFacts {
    const [northbound, southbound] = [this.#options.northbound.cache, this.#options.southbound.cache];
    const { handle } = local;
    return {
      pathsOf: (network) => readPathFacts({ northbound, southbound }, handle, network, hub),
      portsHeldOn: (network) => readHeld(northbound, handle, network, hub),
      firstChassis: () => presentAnchors(northbound, local),
      witnessesOf: (logicalSwitch) => readWitnesses(southbound, handle, logicalSwitch),
      isGrouped: (chassis) => isGrouped(southbound, chassis),
      carriedAtStart: () => (this.#carried ??= readNextHops(northbound)),
      routedAtStart: () => (this.#routed ??= readRoutedPrefixes(northbound)),
      gatewaysAtStart: () => (this.#gateways ??= readRemoteGateways(southbound)),
    };
  }

  /** This cluster is not a member any more. */
  reset(): void {
    this.#own = undefined;
    this.#handle = undefined;
    this.#isLocalStale = true;
  }

  #readLocal(spec: InterconnectSpec, cluster: string, hub: Granted): LocalView {
    const { northbound, southbound, sources } = this.#options;
    const before = this.#own;
    if (hub.isComplete || this.#handle === undefined) this.#handle = ownHandle(northbound.cache, hub);
    const names = { cluster, handle: this.#handle ?? cluster };
    const isNamed = before?.local.cluster === names.cluster && before.local.handle === names.handle;
    if (before !== undefined && !this.#isLocalStale && isNamed && before.spec === spec) return before.local;
    this.#isLocalStale = false;
    return buildLocal(
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
      before?.local,
    );
  }

  #readEdges(): void {
    if (!this.#areEdgesStale) return;
    this.#areEdgesStale = false;
    const { nodes, bgpNodeStates, sharedPools } = this.#options.sources;
    // If no node looks ready, maybe only the reports of all nodes are missing.
    const isAnyReady = [...nodes.entries()].some(([, { isReady }]) => isReady);
    const isReady = (node: string): boolean => !isAnyReady || nodes.get(node)?.isReady === true;
    const isShared = areShared(Array.from(sharedPools.entries(), ([, pool]) => pool));
    this.#edges = buildEdges({ states: bgpNodeStates.entries(), isReady, isShared }, this.#edges);
  }
}
