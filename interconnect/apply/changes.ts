/**
 * Dispatches changes. In: events of the watches, the databases and the hub. Out: stale values in `watch/`, `state/` and
 * `status/`, and a round. A heartbeat of a gateway, which arrives every few seconds, causes no round.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Change, OvsdbClient } from 'ovsdb-client';
import type { ExportUpdate } from '../model/export-messages.ts';
import type { PodUpdate } from '../model/pod-sets.ts';
import type { HubUpdate } from '../model/messages.ts';
import type { GatewayObject } from '../model/objects.ts';
import type { ImportedSlice } from '../model/service-objects.ts';
import type { OwnCluster } from '../settle/own-cluster.ts';
import type { Clusters } from '../state/clusters.ts';
import type { ClusterReader } from '../watch/cluster-reader.ts';
import type { Heartbeats } from '../watch/heartbeats.ts';
import { plainService } from '../watch/service-objects.ts';
import { concernOf, policyPeersOf, type Sources } from '../watch/sources.ts';
import type { OvnProbe } from './ovn-probe.ts';
import type { Pods } from './pods.ts';
import type { Progress } from './progress.ts';
import type { Services } from './services.ts';
import type { RoundEngine } from '../../lib/rounds/engine.ts';

export interface ChangesOptions {
  readonly sources: Sources;
  /** Clients of both databases. */
  readonly databases: readonly OvsdbClient[];
  readonly reader: Pick<ClusterReader, 'localChanged' | 'edgesChanged'>;
  readonly clusters: Clusters;
  readonly cluster: Pick<OwnCluster, 'cuts'>;
  readonly heartbeats: Heartbeats;
  readonly probe: Pick<OvnProbe, 'doubt'>;
  readonly progress: Pick<Progress, 'begin'>;
  readonly rounds: RoundEngine;
  readonly services: Pick<
    Services,
    | 'namespaceChanged'
    | 'surroundingsChanged'
    | 'importSeen'
    | 'globalServiceChanged'
    | 'poolsChanged'
    | 'probesChanged'
    | 'sharedAddressSeen'
  >;
  readonly pods: Pick<Pods, 'namespaceChanged' | 'policiesChanged'>;
  readonly now: () => number;
  /** The watch has brought a version of an object. */
  readonly onSeen: (kind: string, name: string) => void;
  readonly onKeySliceSeen: (name: string) => void;
  readonly onSliceSeen: (before: ImportedSlice | undefined, after: ImportedSlice | undefined) => void;
  /** The statuses of these RemoteClusters may have changed. */
  readonly onStale: (clusters: Iterable<string>) => void;
}

export class Changes {
  readonly #options: ChangesOptions;
  readonly #unsubscribe: (() => void)[] = [];

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /** To be called once everything is in sync. */
  follow(): void {
    const { sources, databases, reader, rounds, clusters, heartbeats, onSeen, onStale, onKeySliceSeen } = this.#options;
    const { interconnects, nodes, subnets, gateways, routePolicies } = sources;
    const { remoteClusters, remoteRouteSlices, transitSwitches, bgpNodeStates } = sources;
    const local = (): void => {
      reader.localChanged();
      rounds.request();
    };
    this.#unsubscribe.push(
      // Most changes of these are of a status, and say nothing to other clusters.
      nodes.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || local()),
      subnets.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || local()),
      interconnects.subscribe(local),
      routePolicies.subscribe(local),
      interconnects.subscribe(({ key }) => onSeen('Interconnect', key)),
      sources.keySlices.subscribe(({ key }) => {
        onKeySliceSeen(key);
        rounds.request();
      }),
      gateways.subscribe(({ key, before, after }) => this.#gatewayChanged(key, before, after)),
      remoteClusters.subscribe(({ key }) => {
        onSeen('RemoteCluster', key);
        rounds.request();
      }),
      remoteRouteSlices.subscribe(({ before, after }) => {
        onStale([before, after].flatMap((slice) => slice?.owner.name ?? []));
        rounds.request();
      }),
      bgpNodeStates.subscribe(() => {
        reader.edgesChanged();
        rounds.request();
      }),
      transitSwitches.subscribe(({ key }) => {
        onSeen('TransitSwitch', key);
        local();
      }),
    );
    this.#followServices();
    this.#followPolicies();
    for (const [node, object] of gateways.entries()) {
      clusters.setGateway(node, undefined, object);
      heartbeats.seen(node, object.checkedAt);
    }
    for (const client of databases)
      this.#unsubscribe.push(client.subscribe((changes) => this.#databaseChanged(changes)));
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  hubUpdated(update: HubUpdate): void {
    const { clusters, heartbeats, progress, rounds, now, onStale } = this.#options;
    const { members, isReachChanged } = clusters.hubUpdated(update, now());
    // Where no daemon of this cluster reports its tunnels, the reports of other clusters count.
    if (isReachChanged && heartbeats.silent.size > 0) onStale(clusters.hub.members.keys());
    onStale(members);
    progress.begin('hub');
    rounds.request();
  }

  /** Returns false if the update builds on exports that are not known here. */
  exportsUpdated(update: ExportUpdate): boolean {
    const { clusters, rounds } = this.#options;
    const changed = clusters.exports.apply(update);
    // The hub and the other agent have gathered changes already.
    rounds.soon();
    return changed !== undefined;
  }

  /** Returns false if the update builds on sets that are not known here. */
  podsUpdated(update: PodUpdate): boolean {
    const { clusters, rounds } = this.#options;
    const isKnown = clusters.pods.apply(update);
    rounds.soon();
    return isKnown;
  }

  /** Call when the set of silent daemons changed. */
  silentDaemonsChanged(): void {
    const { probe, clusters, rounds, onStale } = this.#options;
    // A probe of the node's ovn-controller shows whether only the daemon is silent.
    probe.doubt();
    onStale(clusters.hub.members.keys());
    rounds.request();
  }

  #followServices(): void {
    const { sources, reader, rounds, services, onSeen, onSliceSeen } = this.#options;
    const { subnets, nodes, serviceCidrs, namespaces, serviceExports, serviceImports, importedSlices } = sources;
    const { globalServices, sharedPools, sharedAddresses } = sources;
    this.#unsubscribe.push(
      subnets.subscribe(() => services.surroundingsChanged()),
      // Heartbeats change a Node and nothing of this.
      nodes.subscribe(({ before, after }) => isDeepStrictEqual(before, after) || services.surroundingsChanged()),
      serviceCidrs.subscribe(() => {
        services.surroundingsChanged();
        rounds.request();
      }),
      namespaces.subscribe(({ key, before, after }) => {
        if (!isDeepStrictEqual(before?.labels, after?.labels)) services.poolsChanged();
        else if (before?.isDeleting === after?.isDeleting) return;
        services.namespaceChanged(key);
        rounds.request();
      }),
      serviceExports.subscribe(({ key }) => {
        onSeen('ServiceExport', key);
        rounds.request();
      }),
      serviceImports.subscribe(({ key }) => {
        onSeen('ServiceImport', key);
        services.importSeen(key);
        rounds.request();
      }),
      globalServices.subscribe(({ key, before, after }) => {
        // Most Services have none of the annotations.
        if (isDeepStrictEqual(before ?? plainService, after ?? plainService)) return;
        onSeen('Service', key);
        services.globalServiceChanged(key);
        rounds.request();
      }),
      importedSlices.subscribe(({ before, after }) => {
        onSliceSeen(before, after);
        rounds.request();
      }),
      sharedPools.subscribe(({ before, after }) => {
        // Counts in the statuses of pools change often.
        if (isDeepStrictEqual(before, after) || (before?.isOffered !== true && after?.isOffered !== true)) return;
        services.poolsChanged();
        reader.edgesChanged();
        rounds.request();
      }),
      sharedAddresses.subscribe(({ key, before, after }) => {
        onSeen('SharedAddress', key);
        for (const object of [before, after]) if (object !== undefined) services.sharedAddressSeen(object.service);
        rounds.request();
      }),
    );
  }

  #followPolicies(): void {
    const { sources, rounds, pods } = this.#options;
    for (const policies of policyPeersOf(sources))
      this.#unsubscribe.push(
        policies.subscribe(({ before = [], after = [] }) => {
          if (before.length + after.length === 0) return;
          pods.policiesChanged();
          rounds.request();
        }),
      );
    this.#unsubscribe.push(
      sources.remotePodSlices.subscribe(() => rounds.request()),
      sources.namespaces.subscribe(({ key, before, after }) => {
        if (isDeepStrictEqual(before?.labels, after?.labels)) return;
        pods.namespaceChanged(key);
        rounds.request();
      }),
    );
  }

  #gatewayChanged(node: string, before: GatewayObject | undefined, after: GatewayObject | undefined): void {
    const { reader, clusters, cluster, heartbeats, progress, rounds, onSeen, onStale } = this.#options;
    onSeen('InterconnectGateway', node);
    heartbeats.seen(node, after?.checkedAt);
    // Only gateways that are cut off from each other are judged by how often they look.
    if (isHeartbeat(before, after) && cluster.cuts.length === 0) return;
    if (before?.status.silentPrograms?.join() !== after?.status.silentPrograms?.join())
      onStale(clusters.hub.members.keys());
    if (JSON.stringify(before?.wireGuard) !== JSON.stringify(after?.wireGuard)) onStale(clusters.hub.members.keys());
    if (!isDeepStrictEqual(before?.probes, after?.probes)) this.#options.services.probesChanged();
    const turned = clusters.setGateway(node, before, after);
    onStale(clusters.tunnels.measured(before, after));
    if (before?.isDrained !== after?.isDrained || before === undefined || after === undefined) reader.localChanged();
    if (turned.size === 0) return void rounds.request();
    progress.begin('tunnel');
    rounds.urgent();
  }

  #databaseChanged(changes: readonly Change[]): void {
    const { reader, rounds } = this.#options;
    const concerns = new Set(changes.map(concernOf));
    if (concerns.has('local')) reader.localChanged();
    if (concerns.has('local') || concerns.has('holders')) rounds.request();
  }
}

/** Whether only the time of the check differs. */
function isHeartbeat(before: GatewayObject | undefined, after: GatewayObject | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  const rest = ({ status, uid, isDrained, isDeleting }: GatewayObject): string =>
    JSON.stringify([uid, isDrained, isDeleting, { ...status, checkedAt: undefined }]);
  return before.checkedAt !== after.checkedAt && rest(before) === rest(after);
}
