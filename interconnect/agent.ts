/**
 * The agent of one cluster, wired in the order the data flows: watch → state → settle → plan and apply → status.
 *
 * In: a Kubernetes client and synced clients of both databases. Out: the membership of this cluster, as long as the
 * Interconnect `default` exists. Called by main.ts under the lease. Any change leads to the same round. Unchanged values
 * are neither planned nor written again.
 */
import { once } from 'node:events';
import type { OvsdbClient } from 'ovsdb-client';
import release from '../package.json' with { type: 'json' };
import { openOvsdbTarget } from '../lib/desired/ovsdb-target.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import { RoundEngine } from '../lib/rounds/engine.ts';
import { spacingWithin } from '../lib/rounds/spacing.ts';
import type { Logger } from '../lib/run/logger.ts';
import { Changes } from './apply/changes.ts';
import { openExchange } from './apply/export-exchange.ts';
import { secretStore } from './apply/identity.ts';
import { Lifecycle } from './apply/lifecycle.ts';
import { Member } from './apply/member.ts';
import { Membership } from './apply/membership.ts';
import { Network } from './apply/network.ts';
import { OvnIcConfig } from './apply/ovn-ic-config.ts';
import { OvnProbe } from './apply/ovn-probe.ts';
import { Pods } from './apply/pods.ts';
import { Progress } from './apply/progress.ts';
import { Services } from './apply/services.ts';
import { canonicalName } from './model/objects.ts';
import { routesAtOnce } from './model/routes-at-once.ts';
import { ownEntries } from './plan/own-keys.ts';
import { OwnCluster } from './settle/own-cluster.ts';
import { isOvnFollowing } from './settle/ovn-lag.ts';
import { SelectedPods } from './settle/pods/selected-pods.ts';
import { measurementOf } from './settle/services/distances.ts';
import { RemoteClusters } from './settle/remote-clusters.ts';
import { Clusters } from './state/clusters.ts';
import type { AgentView } from './status/metrics.ts';
import { PathReporter } from './status/path-reporter.ts';
import { KeySliceWriter } from './status/key-slices.ts';
import { Publisher } from './status/publisher.ts';
import { ClusterReader } from './watch/cluster-reader.ts';
import { southboundKeyOf, southboundOwnerOf } from './watch/databases.ts';
import { ExportSources } from './watch/export-sources.ts';
import { ExportedServicesWatch } from './watch/exported-services.ts';
import { Heartbeats } from './watch/heartbeats.ts';
import { PodsWatch } from './watch/pods.ts';
import { watchSources } from './watch/sources.ts';

const room = 'interconnect';

/** A burst of changes is one round. */
const gatherMs = 20;
/** Thousands of changing Subnets must not keep the agent busy with rounds; a tunnel that fails is urgent and does not wait. */
const longestSpacingMs = 1000;

export interface AgentOptions {
  readonly client: KubeClient;
  readonly northbound: OvsdbClient;
  readonly southbound: OvsdbClient;
  /** Of Isthmus: where its Secrets are. */
  readonly namespace: string;
  readonly identity: string;
  /** Whether OVN's switches have load balancers at all. */
  readonly hasLoadBalancers: boolean;
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
  /** Seconds from a tunnel's change, or from the hub's update, to the northbound database. */
  readonly onReaction?: (kind: 'tunnel' | 'hub', seconds: number) => void;
}

/** Runs until `signal` aborts. `onView` is called once, with a function that returns the present state. */
export async function runAgent(
  options: AgentOptions,
  signal: AbortSignal,
  onView: (look: () => AgentView) => void,
): Promise<void> {
  const agent = wireAgent(options, signal);
  onView(() => agent.view());
  try {
    await agent.start();
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await agent.close();
  }
}

function wireAgent(options: AgentOptions, signal: AbortSignal) {
  const { client, northbound, southbound, namespace, identity, log, now, random } = options;
  const onChange = (): void => void rounds.request();

  const sources = watchSources(client, signal, log);
  const reader = new ClusterReader({ northbound, southbound, sources });
  const heartbeats = new Heartbeats({ client, log, onChange: () => changes.silentDaemonsChanged() });

  const clusters = new Clusters();

  const remotes = new RemoteClusters();
  const cluster = new OwnCluster({
    remotes,
    tunnels: clusters.tunnels,
    isFollowed: () => isOvnFollowing(probe.stalled),
    // The databases show it only after a write; the daemon reports it at any time.
    isStuck: (node) => probe.stalled.controllers.has(node) || sources.nodes.get(node)?.hasNetwork === false,
  });

  const targets = openTargets(options, () => probe.wrote());
  const progress = new Progress({
    targets,
    now,
    onChange,
    onReaction: (kind, ms) => options.onReaction?.(kind, ms / 1000),
  });
  const probe = new OvnProbe({ northbound, southbound, now, gateways: () => cluster.liveGateways, onChange });
  const membership = new Membership({
    store: secretStore(client, namespace),
    now,
    random,
    log,
    onUpdate: (update) => changes.hubUpdated(update),
    onExports: (update) => changes.exportsUpdated(update),
    onPods: (update) => changes.podsUpdated(update),
    onChange,
  });
  const network = new Network(targets, remotes);
  const exchange = openExchange({ membership, clusters });
  const exports = new ExportSources(sources);
  /** Clients of other clusters wait for an endpoint or a label; a burst is spaced, and not gathered before the first round. */
  const onAwaited = (): void => void rounds.soon();
  const exported = new ExportedServicesWatch({ client, exports, signal, log, onChange: onAwaited });
  const services = new Services({
    watch: exported,
    sources,
    exports,
    northbound,
    target: targets.northbound,
    remotes,
    exchange,
    measure: (name) =>
      measurementOf(remotes.view.get(name)?.verdicts ?? [], (chassis) => clusters.tunnels.gateway(chassis)),
    hasLoadBalancers: options.hasLoadBalancers,
  });
  const selected = new SelectedPods();
  const podsWatch = new PodsWatch({
    client,
    signal,
    log,
    onPod: (key, pod) => {
      selected.setPod(key, pod);
      if (selected.isChanged && podsWatch.isSynced) onAwaited();
    },
    onSynced: onAwaited,
  });
  const pods = new Pods({ watch: podsWatch, sources, clusters, remotes, membership, selected });
  const member = new Member({ reader, clusters, cluster, remotes, network, services, pods, now });
  const writer = new ObjectWriter({ signal, log, onRefused: onChange });
  const lifecycle = new Lifecycle({
    client,
    namespace,
    writer,
    signal,
    log,
    reader,
    clusters,
    member,
    membership,
    network,
    services,
    pods,
    probe,
    progress,
    onSettled: (names) => publisher.settled(names),
    onChange,
  });

  const events = new EventRecorder({ client, component: `isthmus-${room}`, instance: identity, signal, log });
  const facts = {
    reader,
    clusters,
    cluster,
    remotes,
    membership,
    progress,
    probe,
    heartbeats,
    services,
    exchange,
    pods,
    member,
  };
  const keySlices = new KeySliceWriter({ client, writer, slices: sources.keySlices });
  const publisher = new Publisher({ client, writer, events, sources, facts, log, now, onDue: onChange });
  const paths = new PathReporter({
    version: release.version,
    remoteClusters: sources.remoteClusters,
    send: (report) => membership.sendPaths(report),
  });
  const { nodes, routePolicies } = sources;
  const icConfig = new OvnIcConfig({ client, writer, events, nodes, routePolicies, namespace, log, signal });

  const rounds: RoundEngine = new RoundEngine({
    gatherMs,
    spacingMs: spacingWithin(longestSpacingMs),
    run: () => {
      const object = sources.interconnects.get(canonicalName);
      lifecycle.step(object);
      const keys = object === undefined || object.isDeleting ? new Map() : member.keySlices;
      if (keys !== undefined) keySlices.write(keys);
      publisher.publish(object);
      rounds.wakeAfter(Math.max(1, cluster.wakeMs - now()));
    },
  });
  const changes = new Changes({
    sources,
    databases: [northbound, southbound],
    reader,
    clusters,
    cluster,
    heartbeats,
    probe,
    progress,
    rounds,
    services,
    pods,
    now,
    onSeen: (kind, name) => {
      publisher.seen(kind, name);
      if (kind === 'RemoteCluster') paths.changed();
    },
    onKeySliceSeen: (name) => keySlices.seen(name),
    onSliceSeen: (before, after) => publisher.sliceSeen(before, after),
    onStale: (names) => publisher.clustersChanged(names),
  });

  return {
    view: (): AgentView => ({
      link: membership.state,
      remotes: remotes.view,
      tunnels: clusters.tunnels,
      rejections: [...clusters.hub.rejections, ...clusters.pods.rejections],
    }),
    async start(): Promise<void> {
      await Promise.all(Object.values(sources).map(({ synced }) => synced));
      // Before the first round, which sends all exports.
      const spec = sources.interconnects.get(canonicalName)?.spec;
      exports.readAnnotations(spec === undefined || 'code' in spec || spec.ciliumAnnotations);
      await exported.start();
      changes.follow();
      publisher.start();
      paths.changed();
      heartbeats.start();
      void icConfig.start();
      rounds.start();
    },
    async close(): Promise<void> {
      changes.close();
      void rounds.close();
      await Promise.all([exported.stop(), podsWatch.stop()]);
      await Promise.all([icConfig.stop(), ...Object.values(sources).map((reflector) => reflector.stop())]);
      await lifecycle.ended();
      await membership.close();
      publisher.close();
      paths.close();
      progress.close();
      probe.stop();
      heartbeats.stop();
      for (const target of Object.values(targets)) target.close();
      await Promise.all([writer.close(), events.close()]);
    },
  };
}

function openTargets({ northbound, southbound, log }: AgentOptions, onTransaction: () => void) {
  const common = { room, logger: log, onTransaction };
  return {
    northbound: openOvsdbTarget({
      ...common,
      client: northbound,
      ownEntries,
      // Withdrawing a route is worth a transaction of its own.
      batchDelayMs: 1,
      instalments: { tables: ['Logical_Router_Static_Route'], rows: routesAtOnce },
    }),
    southbound: openOvsdbTarget({
      ...common,
      client: southbound,
      keyOf: southboundKeyOf,
      ownerOf: southboundOwnerOf,
    }),
  };
}
