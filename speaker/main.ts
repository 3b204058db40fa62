// The speaker of one node. In: BGP objects and the objects that they announce, from Kubernetes. Out: sessions and paths for gobgpd, and statuses of
// the objects. gobgpd is a separate process and outlives this one.
import { bgpRoutes } from '../lib/slices/bgp-routes.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { openKube } from '../lib/kube/client.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import { list, parseFlags, text } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { SliceWriter } from '../lib/slices/writer.ts';
import type { ObjectsOfValues } from '../lib/bgp/values.ts';
import { Rounds } from './apply/rounds.ts';
import type { SpeakerState } from './model/objects.ts';
import { Cluster } from './state/cluster.ts';
import { Report } from './status/report.ts';
import { Probes } from './apply/probe.ts';
import { GobgpTarget } from './apply/target.ts';
import { SpeakerMetrics } from './status/metrics.ts';
import { ServerAddresses } from '../lib/kube/server-addresses.ts';
import { Drain } from './settle/drain.ts';
import { historyOf } from './model/session-history.ts';
import { UpdateLag } from './apply/update-lag.ts';
import { Neighbors } from './settle/neighbors.ts';
import { SpeakerEvents } from './status/events.ts';
import { NodeStateWriter } from './status/node-state-writer.ts';
import { StatusWriter } from './status/status-writer.ts';
import { openWatches } from './watch/watches.ts';
import { flagObjects, sessionFlags } from './watch/flag-objects.ts';
import { GobgpdLog } from './watch/gobgpd-log.ts';
import { LinkWatch } from './watch/links.ts';
import { NodeNetworkWatch } from './watch/node-network.ts';
import { OwnAddresses } from './watch/own-addresses.ts';
import { SignatureWatch } from './watch/signatures.ts';
import { SwitchWatch } from './watch/switch.ts';

const flags = {
  kubeconfig: text('kubeconfig file; without it the service account of the pod', undefined),
  node: text('name of the node of this process'),
  gobgpd: text("address of gobgpd's API, unix:/path or host:port"),
  namespace: text('namespace of Isthmus', 'kube-system'),
  'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10667'),
  'password-secrets': list('names of the Secrets in that namespace that may have passwords of peers', []),
  'gobgpd-log': text("gobgpd's log, as JSON lines; the speaker empties it when it is long", undefined),
  netstat: text("the kernel's TCP counters of gobgpd's network namespace", '/proc/net/netstat'),
  'unix-sockets': text("the kernel's list of unix sockets of the network namespace of the switch", '/proc/net/unix'),
  ...sessionFlags,
  'proto-dir': text('folder with v3/gobgp.proto and v4/gobgp.proto; by default the one beside the source', undefined),
};

runRoom('speaker', async (signal: AbortSignal, log: Logger) => {
  const options = parseFlags(flags, process.argv.slice(2), process.env);
  const { node } = options;
  const client = openKube({ kubeconfig: options.kubeconfig, userAgent: 'isthmus-speaker' });
  const registry = createRegistry('speaker', { node });
  const monotonicMs = (): number => performance.now();

  // state and settle
  const neighbors = new Neighbors(node);
  const drain = new Drain();
  const addresses = new OwnAddresses(() => rounds.request());
  const cluster = new Cluster({
    node,
    ...mapsOf(flagObjects(options)),
    neighbors: neighbors.all,
    ownAddresses: addresses.all,
    monotonicMs,
  });

  // status
  const lag: UpdateLag = new UpdateLag(monotonicMs, (lagMs) => metrics.answered(lagMs));
  const metrics = new SpeakerMetrics(registry, () => lag.pendingMs);
  const component = 'isthmus-speaker';
  const recorder = new EventRecorder({ client, component, instance: node, isApart: true, signal, log });
  const events = new SpeakerEvents(recorder, node);
  const objectWriter = new ObjectWriter({ signal, log });
  const writing = { client, writer: metrics.counting(objectWriter), node, now: () => new Date().toISOString() };
  const slices = new SliceWriter(bgpRoutes, writing);
  const report: Report = new Report({
    node,
    cluster,
    clues: () => ({ signatures: signatures.recent, notifications: gobgpdLog.last }),
    metrics,
    status: new StatusWriter({ ...writing, events }),
    nodeState: new NodeStateWriter(writing),
    slices,
    events,
  });

  // plan and apply
  const target = new GobgpTarget({
    gobgpd: options.gobgpd,
    protoDir: options.protoDir,
    log,
    random: Math.random,
    monotonicMs,
    onCall: (method) => metrics.countCall(method),
    onObserved: (observed) => {
      if (observed.daemon.isReachable) gobgpdLog.forget(observed.sessions);
      report.observed(observed);
    },
    onReceived: (received) => report.received(received),
    lag,
    onAudit: (differing) => metrics.audited(differing),
  });
  const rounds: Rounds = new Rounds({
    cluster,
    drain,
    target,
    lag,
    followLinks: (names) => links.follow(names),
    facts: () => ({ network: nodeNetwork.network, apiServers: apiServers.all }),
    onPlan: (plan, lifelines, isOfFewRoutes) => report.planned(plan, lifelines, isOfFewRoutes),
    monotonicMs,
  });

  // watch
  const probes = new Probes();
  const links = new LinkWatch((seen) => {
    neighbors.see(seen);
    probes.set(neighbors.doubtful);
    rounds.request();
  });
  const onChange = (): void => rounds.request();
  const nodeNetwork = new NodeNetworkWatch(onChange);
  const apiServers = new ServerAddresses({ kubeconfig: options.kubeconfig, signal, log, onChange });
  const onClue = (): void => report.cluesChanged();
  const signatures = new SignatureWatch({ file: options.netstat, monotonicMs, onChange: onClue });
  const switchWatch: SwitchWatch = new SwitchWatch({
    file: options.unixSockets,
    isNeeded: () => cluster.isGateway,
    onChange: () => {
      cluster.setSwitch(switchWatch.isDown);
      rounds.request();
    },
  });
  const gobgpdLog = new GobgpdLog({ file: options.gobgpdLog, onChange: onClue });
  const watches = openWatches({
    client,
    node,
    passwords: { namespace: options.namespace, names: options.passwordSecrets },
    log,
    signal,
    onSlice: (before, after) => slices.seen(before, after),
    onChange: (kind, key, after) => {
      cluster.change(kind, key, after);
      rounds.request();
    },
  });

  const health = await serveHealth({ address: options.metricsAddress, ready: () => report.isReady, registry });
  await Promise.all([watches.synced, nodeNetwork.known, addresses.ready, apiServers.known]);
  neighbors.remember(cluster.nodeState?.status);
  target.remember(historyOf(cluster.nodeState?.status));
  if (cluster.nodeState?.status.drain === 'Drained') drain.resume();
  rounds.start();
  log.info({ node, gobgpd: options.gobgpd }, 'all objects were read; working');
  await target.run(signal);
  for (const part of [rounds, links, nodeNetwork, addresses, gobgpdLog, report]) part.close();
  signatures.stop();
  switchWatch.stop();
  probes.stop();

  await Promise.all([health.close(), watches.stop(), recorder.close(), objectWriter.close()]);
  await client.close();
});

function mapsOf(objects: ObjectsOfValues | undefined): Pick<SpeakerState, 'instances' | 'peers'> {
  const byName = <T extends { readonly name: string }>(values: readonly T[]): ReadonlyMap<string, T> =>
    new Map(values.map((value) => [value.name, value]));
  return { instances: byName(objects ? [objects.instance] : []), peers: byName(objects?.peers ?? []) };
}
