/**
 * Exported and imported Services. In: the exports of this cluster and of the others, and the paths to the others. Out: what is sent to the hub,
 * and the load balancers of the imports, owner by owner. Called by the round, after the routes of other clusters were set: a cluster whose last
 * path is down loses its routes and its backends in one transaction.
 */
import type { OvsdbClient } from 'ovsdb-client';
import type { InterconnectSpec } from '../../lib/api/kinds/interconnect.ts';
import type { OvsdbTarget } from '../../lib/desired/ovsdb-target.ts';
import { recordsOf, textOf, textsOf } from '../../lib/kube/fields.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { serviceKey, type Service } from '../../lib/services/service.ts';
import type { Edges } from '../model/edges.ts';
import type { ExportExchange } from '../model/export-exchange.ts';
import type { ExportedService, ExportedServices, SharedClaim } from '../model/exported-service.ts';
import type { LocalView } from '../model/local.ts';
import { importOfSlice, sharedAddressName, type Affinity } from '../model/service-objects.ts';
import { importOfOwner, importOwner } from '../model/owners.ts';
import { planBalancers } from '../plan/services/balancers.ts';
import type { RemoteChanges, RemoteClusters } from '../settle/remote-clusters.ts';
import type { FormerIps } from '../settle/services/clusterset-ips.ts';
import { Imports, type ImportState } from '../settle/services/imports.ts';
import { clusterSetNetworks } from '../settle/services/networks.ts';
import { sharedClaimOf } from '../settle/services/shared-claims.ts';
import { ValidExports, type ExportFacts } from '../settle/services/valid-exports.ts';
import { Distances, type Measurement } from '../settle/services/distances.ts';
import { Reach } from '../settle/services/reach.ts';
import { overlapWith, surroundingsOf, type Surroundings } from '../settle/services/surroundings.ts';
import { readImportIps } from '../watch/databases.ts';
import type { ExportSources } from '../watch/export-sources.ts';
import type { ExportedServicesWatch } from '../watch/exported-services.ts';
import type { Sources } from '../watch/sources.ts';

export interface ServicesOptions {
  readonly watch: Pick<ExportedServicesWatch, 'takeDirty' | 'keys' | 'get'>;
  readonly sources: Pick<
    Sources,
    | 'subnets'
    | 'nodes'
    | 'serviceCidrs'
    | 'namespaces'
    | 'serviceImports'
    | 'importedSlices'
    | 'globalServices'
    | 'sharedPools'
    | 'sharedAddresses'
    | 'remoteClusters'
  >;
  /** Whether annotations export Services is set here. */
  readonly exports: Pick<ExportSources, 'readAnnotations'>;
  readonly northbound: Pick<OvsdbClient, 'cache' | 'schema'>;
  readonly target: OvsdbTarget;
  readonly remotes: Pick<RemoteClusters, 'view'>;
  readonly exchange: ExportExchange;
  /** The last measurement of the way to a cluster. */
  readonly measure: (cluster: string) => Measurement | undefined;
  /** Whether OVN's switches have load balancers at all. */
  readonly hasLoadBalancers: boolean;
}

export interface ServicesInput {
  readonly spec: InterconnectSpec;
  readonly local: LocalView;
  readonly edges: Edges;
  readonly changes: RemoteChanges;
}

export class Services {
  readonly own = new ValidExports();
  readonly imports = new Imports();
  readonly #options: ServicesOptions;
  readonly #reach = new Reach();
  readonly #distances = new Distances();
  #areDistancesStale = true;
  /** Imports to plan again. */
  readonly #dirty = new Set<string>();
  /** Exports of this cluster whose claims to shared addresses may be others. */
  readonly #claiming = new Set<string>();
  /** Exports of this cluster that changed. */
  readonly #exported = new Set<string>();
  readonly #namespaces = new Set<string>();
  /** Addresses that the ServiceImport has or had: only then a load balancer has them, so that a restart finds them again. */
  readonly #published = new Map<string, readonly string[]>();
  #local: LocalView | undefined;
  #edges: Edges | undefined;
  #surroundings: Surroundings | undefined;
  #areSurroundingsStale = true;
  #areAnnotationsRead = true;
  #clusterSetCidr = '';
  /** By cluster: its prefix overlaps the networks of ClusterSet IPs. */
  readonly #overlaps = new Map<string, Problem>();
  /** The exports of other clusters are known, or were before the session was lost. */
  #hasBegun = false;
  #unknown: ReadonlySet<string> = new Set();
  #sent: ExportedServices | undefined;
  #areNamespacesNew = true;
  #news = new Set<string>();
  /** The exports of this cluster were forgotten: all are settled again with the next membership. */
  #areOwnForgotten = false;

  constructor(options: ServicesOptions) {
    this.#options = options;
  }

  /** The exports of all clusters are known: rows and objects of other imports are left over. */
  get isComplete(): boolean {
    return this.#hasBegun && this.#unknown.size === 0;
  }
  /** Undefined while this cluster is not a member, and before it knows the exports of others. */
  get local(): LocalView | undefined {
    return this.#local;
  }

  namespaceChanged(name: string): void {
    this.#areNamespacesNew = true;
    this.#namespaces.add(name);
  }
  /** The annotations of a Service changed. */
  globalServiceChanged(key: string): void {
    if (this.imports.get(key) !== undefined) this.#dirty.add(key);
  }
  /** Subnets, nodes or ServiceCIDRs changed. */
  surroundingsChanged(): void {
    this.#areSurroundingsStale = true;
  }
  importSeen(key: string): void {
    this.#dirty.add(key);
  }
  /** Gateways have measured other clusters. */
  probesChanged(): void {
    this.#areDistancesStale = true;
  }
  /** Round-trip time to another cluster in milliseconds, as imports use it; undefined if it is not known. */
  distanceOf(cluster: string): number | undefined {
    return this.#distances.of(cluster);
  }
  /** A LoadBalancerPool that clusters share changed, or the labels of a namespace. */
  poolsChanged(): void {
    for (const key of this.own.keys()) this.#claiming.add(key);
  }
  /** The SharedAddress of a Service, `namespace/name`, changed. */
  sharedAddressSeen(key: string): void {
    this.#claiming.add(key);
  }

  /** `spec.ciliumAnnotations` of the Interconnect. */
  get areAnnotationsRead(): boolean {
    return this.#areAnnotationsRead;
  }
  /** Which pods reach imports; undefined while this cluster is not a member. */
  get clients(): Pick<Surroundings, 'obstacle' | 'leftOut'> | undefined {
    return this.#surroundings;
  }
  /** What is wrong with the networks of ClusterSet IPs; undefined before the exports of others are known. */
  get clusterSetProblems(): readonly Problem[] | undefined {
    if (this.#local === undefined || this.#surroundings === undefined) return undefined;
    const { families } = this.#surroundings;
    const own = [...this.imports.networkProblems].flatMap(([family, problem]) =>
      families.has(family) ? [problem] : [],
    );
    const { exhaustion } = this.imports;
    // After a restart in the same order.
    const overlaps = [...this.#overlaps].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, problem]) => problem);
    return [...own, ...(exhaustion === undefined ? [] : [exhaustion]), ...overlaps];
  }

  /** Settles the exports of this cluster and sends them. */
  observe({ vpcs }: LocalView, { ciliumAnnotations }: Pick<InterconnectSpec, 'ciliumAnnotations'>): void {
    const { watch, sources, exchange, exports } = this.#options;
    exports.readAnnotations(ciliumAnnotations);
    if (ciliumAnnotations !== this.#areAnnotationsRead) {
      for (const key of this.imports.keys()) this.#dirty.add(key);
      for (const [key] of sources.globalServices.entries()) this.#news.add(key);
    }
    this.#areAnnotationsRead = ciliumAnnotations;
    const changed = watch.takeDirty().union(this.#claiming);
    this.#claiming.clear();
    const dirty = this.#areOwnForgotten ? changed.union(new Set(watch.keys())) : changed;
    this.#areOwnForgotten = false;
    const partsOf = (key: string): ExportFacts | 'gone' | 'unknown' => watch.get(key);
    for (const key of this.own.step(dirty, vpcs, partsOf, (service) => this.#claimOf(service))) {
      if (this.own.get(key)?.exported?.shared === undefined) exchange.forgetAnswer(key);
      this.#dirty.add(key);
      this.#exported.add(key);
      this.#news.add(key);
    }
    if (this.own.exported === this.#sent && !this.#areNamespacesNew) return;
    this.#sent = this.own.exported;
    this.#areNamespacesNew = false;
    const names = [...sources.namespaces.entries()].flatMap(([name, { isDeleting }]) => (isDeleting ? [] : [name]));
    exchange.send(this.own.exported, new Set(names));
  }

  apply({ spec, local, edges, changes }: ServicesInput): void {
    const { exchange } = this.#options;
    const isReachChanged = this.#takeReach(local, edges, changes);
    this.#hasBegun ||= exchange.isReceived;
    if (!this.#hasBegun) return;
    this.#takeUnknown();
    const surroundings = this.#takeSurroundings(local);
    this.#takeOverlaps(spec.clusterSetCIDR, changes);
    this.#takeDistances(changes);
    // The name of this cluster is part of every import.
    if (this.#local?.cluster !== local.cluster) for (const key of this.own.keys()) this.#exported.add(key);
    const services = this.#exported.union(exchange.takeDirty());
    this.#exported.clear();
    const changed = this.imports.step(
      {
        exportsOf: (key) => this.#exportsOf(key, local.cluster),
        hasNamespace: (name) => this.#options.sources.namespaces.get(name)?.isDeleting === false,
        clusterSetCidr: spec.clusterSetCIDR,
        occupied: surroundings.occupied,
        families: surroundings.families,
        former: () => this.#former(),
        isComplete: this.#unknown.size === 0,
      },
      { services, namespaces: this.#namespaces },
    );
    this.#namespaces.clear();
    for (const key of changed) {
      this.#dirty.add(key);
      this.#news.add(key);
    }
    if (isReachChanged || this.#local !== local) {
      for (const key of this.imports.keys()) {
        this.#dirty.add(key);
        this.#news.add(key);
      }
    }
    this.#local = local;
    for (const key of this.#dirty) this.#plan(key, local);
    this.#dirty.clear();
  }

  /** Keys of exports and imports that changed since the last call. */
  takeNews(): ReadonlySet<string> {
    const news = this.#news;
    this.#news = new Set();
    return news;
  }

  /** Whether the import stays as it is, because a cluster that exported it is not known yet. */
  isHeld(key: string): boolean {
    if (this.#unknown.size === 0) return false;
    const object = this.#options.sources.serviceImports.get(key);
    const clusters = object?.isOurs === true ? recordsOf(object.status['clusters']) : [];
    return clusters.some(({ cluster }) => this.#unknown.has(textOf(cluster)));
  }

  /** Whether pods of some VPC that takes part reach an endpoint of a cluster. */
  isReached(cluster: string, address: string): boolean {
    const { vpcs, cluster: own } = this.#local ?? { vpcs: new Map<string, unknown>(), cluster: '' };
    return cluster === own || [...vpcs.keys()].some((vpc) => this.#reach.reaches(vpc, cluster, address));
  }

  /** By cluster: what its EndpointSlices have. Endpoints that this cluster does not share serve its own clients. */
  endpointsOf(key: string, { exports }: ImportState): ImportState['exports'] {
    const unshared = this.own.get(key)?.unshared;
    if (unshared === undefined || this.#local === undefined) return exports;
    return new Map([...exports, [this.#local.cluster, unshared]]);
  }

  /** This cluster is not a member any more: removes all rows. */
  withdraw(): void {
    for (const key of [...this.own.keys(), ...this.imports.keys()]) this.#news.add(key);
    for (const key of this.imports.keys()) this.#options.target.drop(importOwner(key));
    // What an earlier process wrote.
    for (const owner of this.#options.target.owners())
      if (importOfOwner(owner) !== undefined) this.#options.target.drop(owner);
    this.own.clear();
    this.#areOwnForgotten = true;
    this.imports.clear();
    this.#reach.clear();
    this.#published.clear();
    this.#dirty.clear();
    this.#sent = undefined;
    this.#local = undefined;
    this.#surroundings = undefined;
    this.#areSurroundingsStale = true;
    this.#overlaps.clear();
    this.#distances.clear();
    this.#areDistancesStale = true;
    this.#clusterSetCidr = '';
    this.#edges = undefined;
    this.#hasBegun = false;
    this.#unknown = new Set();
  }

  #claimOf(service: Service): SharedClaim | undefined {
    const { sharedPools, sharedAddresses, namespaces } = this.#options.sources;
    return sharedClaimOf(service, {
      poolOf: (name) => sharedPools.get(name),
      labelsOf: (namespace) => namespaces.get(namespace)?.labels ?? {},
      known: sharedAddresses.get(sharedAddressName(serviceKey(service))),
    });
  }

  #exportsOf(key: string, cluster: string): ReadonlyMap<string, ExportedService> {
    const exports = new Map(this.#options.exchange.of(key));
    const own = this.own.get(key)?.exported;
    if (own === undefined) exports.delete(cluster);
    else exports.set(cluster, own);
    return exports;
  }

  #takeReach(local: LocalView, edges: Edges, { changed, gone }: RemoteChanges): boolean {
    const { view } = this.#options.remotes;
    let isChanged = false;
    if (local !== this.#local || edges !== this.#edges) isChanged = this.#reach.setOwn(local, edges);
    this.#edges = edges;
    for (const name of new Set([...changed, ...gone]))
      if (this.#reach.setCluster(name, view.get(name)?.uses)) isChanged = true;
    return isChanged;
  }

  /** Whether pods reach imports is part of the status of each. */
  #takeSurroundings(local: LocalView): Surroundings {
    const before = this.#surroundings;
    if (before !== undefined && !this.#areSurroundingsStale && local === this.#local) return before;
    this.#areSurroundingsStale = false;
    const { sources, hasLoadBalancers } = this.#options;
    const [subnets, nodes] = [sources.subnets.entries(), sources.nodes.entries()];
    const serviceCidrs = sources.serviceCidrs.entries();
    const after = surroundingsOf({ local, subnets, nodes, serviceCidrs, hasLoadBalancers });
    this.#surroundings = after;
    const textOfClients = (one: Surroundings | undefined): string =>
      JSON.stringify([one?.obstacle, one?.leftOut, one?.zone]);
    if (textOfClients(before) !== textOfClients(after))
      for (const key of this.imports.keys()) {
        this.#dirty.add(key);
        this.#news.add(key);
      }
    return after;
  }

  #takeOverlaps(clusterSetCidr: string, { changed, gone }: RemoteChanges): void {
    const { view } = this.#options.remotes;
    const isNew = clusterSetCidr !== this.#clusterSetCidr;
    this.#clusterSetCidr = clusterSetCidr;
    const networks = clusterSetNetworks(clusterSetCidr, []).networks;
    for (const name of new Set([...(isNew ? [...view.entries()].map(([one]) => one) : []), ...changed, ...gone])) {
      const overlap = overlapWith(name, view.get(name)?.uses ?? [], networks);
      if (overlap === undefined) this.#overlaps.delete(name);
      else this.#overlaps.set(name, overlap);
    }
  }

  /** A cluster that is not connected keeps its time: its endpoints serve as long as paths lead to it. */
  #takeDistances({ changed, gone }: RemoteChanges): void {
    const { remotes, measure, sources } = this.#options;
    for (const name of gone) this.#distances.forget(name);
    const names = this.#areDistancesStale ? [...remotes.view.entries()].map(([name]) => name) : changed;
    this.#areDistancesStale = false;
    let isChanged = false;
    for (const name of names) {
      if (gone.includes(name)) continue;
      const published = sources.remoteClusters.get(name)?.status['rttMs'];
      if (!this.#distances.take(name, measure(name), typeof published === 'number' ? published : undefined)) continue;
      isChanged = true;
    }
    if (!isChanged) return;
    for (const key of this.imports.keys()) if (this.#affinityOf(key) === 'nearest') this.#dirty.add(key);
  }

  #affinityOf(key: string): Affinity {
    const service = this.#options.sources.globalServices.get(key);
    return service?.preference ?? (this.#areAnnotationsRead ? (service?.affinity ?? 'none') : 'none');
  }

  #takeUnknown(): void {
    const { unknown } = this.#options.exchange;
    if (unknown.symmetricDifference(this.#unknown).size === 0) return;
    this.#unknown = unknown;
    for (const key of new Set([...this.imports.keys(), ...this.#written()])) {
      this.#dirty.add(key);
      this.#news.add(key);
    }
  }

  /** Imports that have objects. One that only a cluster which was not known exported has no state here. */
  *#written(): Generator<string> {
    const { serviceImports, importedSlices } = this.#options.sources;
    for (const [key, { isOurs }] of serviceImports.entries()) if (isOurs) yield key;
    for (const [, slice] of importedSlices.entries()) yield importOfSlice(slice);
  }

  #plan(key: string, local: LocalView): void {
    const { target } = this.#options;
    if (this.isHeld(key)) return;
    const owner = importOwner(key);
    const state = this.imports.get(key);
    if (state === undefined) {
      this.#published.delete(key);
      if (target.desired(owner) !== undefined) target.drop(owner);
      return;
    }
    const plan = planBalancers({
      state: { ...state, ips: this.#publishedIps(key, state) },
      cluster: local.cluster,
      vpcs: local.vpcs.keys(),
      ownEndpoints: (vpc) => this.own.get(key)?.endpoints.get(vpc) ?? [],
      reaches: (vpc, cluster, address) => this.#reach.reaches(vpc, cluster, address),
      affinity: this.#affinityOf(key),
      distanceOf: (cluster) => this.#distances.of(cluster),
      zone: this.#surroundings?.zone ?? '',
      ipv6Selection: this.#selectsByIpv6(),
    });
    if (JSON.stringify(target.desired(owner)) !== JSON.stringify(plan)) target.set(owner, plan);
  }

  #publishedIps(key: string, { ips }: ImportState): readonly string[] {
    const object = this.#options.sources.serviceImports.get(key);
    const there = object?.isOurs === true ? textsOf(object.spec['ips']) : [];
    const before = this.#published.get(key) ?? [];
    const published = ips.filter((ip) => there.includes(ip) || before.includes(ip));
    this.#published.set(key, published);
    return published;
  }

  /** What the process before has left; read once. */
  #former(): readonly FormerIps[] {
    const { northbound, sources } = this.#options;
    const rows = [...readImportIps(northbound.cache)].map(([key, ips]): FormerIps => {
      // They were published before they were written, whatever the ServiceImport says now.
      this.#published.set(key, ips);
      this.#dirty.add(key);
      return { key, ips, isInDatabase: true, createdMs: 0 };
    });
    const objects = [...sources.serviceImports.entries()].flatMap(([key, { isOurs, createdMs, spec }]): FormerIps[] =>
      isOurs ? [{ key, ips: textsOf(spec['ips']), isInDatabase: false, createdMs }] : [],
    );
    return [...rows, ...objects];
  }

  #selectsByIpv6(): boolean {
    const column = this.#options.northbound.schema.tables['Load_Balancer']?.columns['selection_fields'];
    return column?.key.enum?.includes('ipv6_src') === true;
  }
}
