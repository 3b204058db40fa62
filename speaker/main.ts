// The speaker of one node: BGP objects and what they announce come in from Kubernetes, gobgpd gets sessions and paths, the objects get a status.
// Read it top to bottom: watch → plan → apply → status. gobgpd is a process of its own and outlives this one.
import { isDrained } from '../lib/bgp/drain.ts';
import { chooseInstance } from '../lib/bgp/instance.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { openKube } from '../lib/kube/client.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import { list, parseFlags, text } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { Probes } from './apply/probe.ts';
import { GobgpTarget } from './apply/target.ts';
import { SpeakerMetrics } from './status/metrics.ts';
import { Lifelines } from '../lib/bgp/lifelines.ts';
import { ServerAddresses } from '../lib/kube/server-addresses.ts';
import { learnedBefore, planLearned } from './plan/learned.ts';
import { planLifelines } from './plan/lifelines.ts';
import { type SpeakerPlan, SpeakerPlanner } from './plan/plan.ts';
import { planStatus } from './plan/status.ts';
import { Drain } from './settle/drain.ts';
import { joined, paced } from './state/joined.ts';
import { historyOf } from './model/session-history.ts';
import { UpdateLag } from './apply/update-lag.ts';
import type { Received } from './model/received.ts';
import { namedLinks, Neighbors } from './settle/neighbors.ts';
import type { Observed } from './model/observed.ts';
import { SpeakerEvents } from './status/events.ts';
import { NodeStateWriter } from './status/node-state-writer.ts';
import { StatusWriter } from './status/status-writer.ts';
import { watchCluster } from './watch/cluster.ts';
import { flagObjects, sessionFlags } from './watch/flag-objects.ts';
import { GobgpdLog } from './watch/gobgpd-log.ts';
import { LinkWatch } from './watch/links.ts';
import { NodeNetworkWatch } from './watch/node-network.ts';
import { OwnAddresses } from './watch/own-addresses.ts';
import { SignatureWatch } from './watch/signatures.ts';

const flags = {
  kubeconfig: text('path of the kubeconfig; without it the service account of the pod is used', undefined),
  node: text('name of the node this runs on'),
  gobgpd: text("address of gobgpd's API, unix:/path or host:port"),
  namespace: text('the namespace Isthmus is installed in', 'kube-system'),
  'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10667'),
  'password-secrets': list('names of the Secrets in that namespace that may have passwords of peers', []),
  'gobgpd-log': text("gobgpd's log, as JSON lines; the speaker empties it when it is long", undefined),
  netstat: text("the kernel's TCP counters of gobgpd's network namespace", '/proc/net/netstat'),
  ...sessionFlags,
  'proto-dir': text('folder with v3/gobgp.proto and v4/gobgp.proto; by default the one beside the source', undefined),
};

/** Bursts of changes are joined for so long. */
const joinMs = 5;
/** Where changes do not end, several are planned and sent at once. */
const spacingMs = 40;
/** Counts in statuses follow routes no faster. */
const countsMs = 1000;
/** While a router sends its table, it is judged this often. */
const receivedMs = 100;

runRoom('speaker', async (signal: AbortSignal, log: Logger) => {
  const options = parseFlags(flags, process.argv.slice(2), process.env);
  const client = openKube({ kubeconfig: options.kubeconfig, userAgent: 'isthmus-speaker' });
  const registry = createRegistry('speaker', { node: options.node });
  const monotonicMs = (): number => performance.now();
  const lag = new UpdateLag(monotonicMs, (lagMs) => metrics.answered(lagMs));
  const metrics = new SpeakerMetrics(registry, () => lag.pendingMs);

  const recorder = new EventRecorder({
    client,
    component: 'isthmus-speaker',
    instance: options.node,
    isApart: true,
    signal,
    log,
  });
  const events = new SpeakerEvents(recorder, options.node);
  const writer = new ObjectWriter({ signal, log });
  const { node } = options;
  const now = (): string => new Date().toISOString();
  const counted = metrics.counting(writer);
  const status = new StatusWriter({ client, writer: counted, events, node, now });
  const nodeState = new NodeStateWriter({ client, writer: counted, node, now });

  let plan: SpeakerPlan | undefined;
  let lifelines = new Lifelines({});
  let observed: Observed | undefined;
  let received: Received | undefined;
  const tellNow = (): void => {
    if (!plan || !observed) return;
    const { state } = cluster;
    // Until gobgpd has told all that routers announce, what was told of it before stays.
    const learned = received
      ? planLearned(plan, lifelines, observed, received)
      : learnedBefore(plan, observed, cluster.nodeState() ?? {});
    const clues = { signatures: signatures.recent, notifications: gobgpdLog.last };
    const planned = planStatus(state, plan, observed, clues, learned);
    metrics.set({ state, plan, observed, nodeState: planned.nodeState });
    status.write(state, planned);
    nodeState.write(cluster.nodeState(), state.nodes.get(node)?.uid, planned.nodeState);
    events.onAnnotations(state, planned.annotations);
  };
  const tell = joined(joinMs, 0, tellNow);
  // What is paced has to be the work itself, and not the timer before it.
  const tellCounts = paced(countsMs, tellNow);
  const tellReceived = paced(receivedMs, tellNow);
  const signatures = new SignatureWatch({ file: options.netstat, monotonicMs, onChange: tell });
  const gobgpdLog = new GobgpdLog({ file: options.gobgpdLog, onChange: tell });
  const target = new GobgpTarget({
    gobgpd: options.gobgpd,
    protoDir: options.protoDir,
    log,
    random: Math.random,
    monotonicMs,
    onCall: (method) => metrics.countCall(method),
    onObserved: (next) => {
      observed = next;
      if (next.daemon.isReachable) gobgpdLog.forget(next.sessions);
      tell();
    },
    onReceived: (next) => {
      received = next;
      tellReceived();
    },
    lag,
    onAudit: (differing) => metrics.audited(differing),
  });
  let isSynced = false;
  const planner = new SpeakerPlanner();
  const replan = joined(joinMs, spacingMs, () => {
    if (!isSynced) return;
    const { state } = cluster;
    // Peers on links that nobody looked at yet would seem to be gone.
    if (!links.follow(namedLinks(state))) return;
    const changes = cluster.takeChanges();
    const before = plan;
    const choice = chooseInstance(state);
    const { instance } = choice;
    const phase = drain.phase(isDrained(state, instance), instance?.drain.settleSeconds ?? 0);
    plan = planner.plan(state, changes, choice, phase);
    lifelines = planLifelines(state, plan, { network: nodeNetwork.network, apiServers: apiServers.all });
    // What was there before the speaker says nothing of how fast it is.
    if (before && changes.sinceMs !== undefined && plan.changed.size > 0) lag.wants(changes.sinceMs);
    target.set(plan);
    if (before && changes.objects.length > 0 && !changes.isEverything) tellCounts();
    else tell();
  });
  const neighbors = new Neighbors(node);
  const probes = new Probes();
  const links = new LinkWatch((seen) => {
    neighbors.see(seen);
    probes.set(neighbors.doubtful);
    replan();
  });
  const nodeNetwork = new NodeNetworkWatch(replan);
  const apiServers = new ServerAddresses({ kubeconfig: options.kubeconfig, signal, log, onChange: replan });
  const addresses = new OwnAddresses(replan);
  const drain = new Drain({ monotonicMs, onChange: replan });
  const cluster = watchCluster({
    client,
    node,
    passwords: { namespace: options.namespace, names: options.passwordSecrets },
    log,
    signal,
    flagObjects: flagObjects(options),
    neighbors: neighbors.all,
    ownAddresses: addresses.all,
    onChange: replan,
    monotonicMs,
  });

  const health = await serveHealth({ address: options.metricsAddress, ready: () => observed !== undefined, registry });
  await Promise.all([cluster.synced, nodeNetwork.known, addresses.ready, apiServers.known]);
  neighbors.remember(cluster.nodeState());
  target.remember(historyOf(cluster.nodeState()));
  if (cluster.nodeState()?.drain === 'Drained') drain.resume();
  isSynced = true;
  replan();
  log.info({ node, gobgpd: options.gobgpd }, 'the cluster is known; working');
  await target.run(signal);
  signatures.stop();
  links.close();
  nodeNetwork.close();
  addresses.close();
  probes.stop();
  gobgpdLog.close();
  drain.stop();

  await Promise.all([health.close(), cluster.stop(), recorder.close(), writer.close()]);
  await client.close();
});
