/**
 * The controller: one per cluster, Kubernetes in, the OVN northbound database and statuses out. Wiring only, in the
 * order the data flows. A standby waits for the lease and opens nothing else. A controller that loses the lease exits.
 */
import { hostname } from 'node:os';
import type { Registry } from 'prom-client';
import { openOvsdbTarget } from '../lib/desired/ovsdb-target.ts';
import { openKube } from '../lib/kube/client.ts';
import { EventRecorder } from '../lib/kube/events.ts';
import { runWithLease } from '../lib/kube/leader.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { ObjectWriter } from '../lib/kube/writer.ts';
import { databaseFlags, findDatabases, type Databases } from '../lib/ovn/databases.ts';
import { connectionLog } from '../lib/run/connection-log.ts';
import { choice, list, parseFlags, text, toggle, UsageError } from '../lib/run/flags.ts';
import type { FlagValues } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import { IdleMemory } from '../lib/run/idle-memory.ts';
import type { Logger } from '../lib/run/logger.ts';
import { encapTypes, hasShortKeys } from '../lib/net/tunnel-overhead.ts';
import { runRoom } from '../lib/run/room.ts';
import { DomainWatch, parseServers } from './apply/domain-names.ts';
import { GatewayHolders } from './apply/gateway-holders.ts';
import { IdlePolicies } from './apply/idle-policies.ts';
import { hasMovedPolicies } from './apply/moved-policies.ts';
import { openNorthbound, room, type Northbound } from './apply/northbound.ts';
import { Rounds } from './apply/rounds.ts';
import { Southbound } from './apply/southbound.ts';
import { Upstreams } from './apply/upstreams.ts';
import { preview } from './preview.ts';
import { DirtyKeys } from './plan/dirty-keys.ts';
import { ownEntries, ownerByName } from './plan/own-keys.ts';
import type { ChosenCapabilities } from './model/view.ts';
import { Cluster } from './settle/cluster.ts';
import { Bootstrap } from './status/bootstrap.ts';
import { openMetrics } from './status/metrics.ts';
import { StatusWriter } from './status/status-writer.ts';
import { PendingWrites, versionOf } from './status/pending-writes.ts';
import { apiServerAddresses } from './watch/api-server.ts';
import { openWatches } from './watch/watches.ts';

const flags = {
  kubeconfig: text('kubeconfig file; in-cluster configuration without it', undefined),
  ...databaseFlags,
  namespace: text('namespace of Isthmus, with its lease and OVN’s databases', 'kube-system'),
  identity: text('name of this process among the candidates for the lease; unique', hostname()),
  'dry-run': toggle('print what a start would write to the database and to Kubernetes, write nothing, and end'),
  'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10660'),
  'default-cidr': text('CIDRs of the Subnet ovn-default, if it does not exist', '10.16.0.0/16'),
  'enable-lb': choice('whether switches get load balancers', ['true', 'false'], 'true'),
  'external-ips': choice(
    'whether Services are reached by their externalIPs, which any author of a Service can choose (CVE-2020-8554)',
    ['Deny', 'Allow'],
    'Deny',
  ),
  'load-balancers': choice(
    'Services of type LoadBalancer that get addresses: also those without a class, or only those of class isthmus.network/load-balancer',
    ['Unclassed', 'Classed'],
    'Unclassed',
  ),
  'encap-type': choice(
    'tunnels that nodes offer to each other; with vxlan, a switch has no more ports than VXLAN has keys for',
    encapTypes,
    'geneve',
  ),
  'cluster-domain': text('domain of the names of Services and pods', 'cluster.local'),
  'dns-servers': list(
    'DNS servers that are asked for the domain names of policies, as address or address:port; without any, the endpoints of the Service kube-system/kube-dns',
    [],
  ),
  'policy-drops': toggle(
    'have OVN report samples of the packets that policies drop, from which daemons with --policy-drops record events',
  ),
  'join-cidr': text('CIDRs of the Subnet join, if it does not exist', '100.64.0.0/16'),
} as const;

/** A burst of pods is two writes each; the API server's own fairness is the limit that counts. */
const writeLimits = { qps: 1000, burst: 1000, parallel: 16 } as const;

type Settings = FlagValues<typeof flags>;

interface Leadership {
  readonly settings: Settings;
  readonly client: KubeClient;
  readonly registry: Registry;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly onStarted: () => void;
}

/** @throws UsageError */
function northboundOf(databases: Databases) {
  const access = databases.at('nb');
  if (access === undefined) throw new UsageError('--nb is missing: with --sb alone there is no northbound database', 2);
  return access;
}

/** The capabilities that the flags decide. */
function chosen({
  enableLb,
  externalIps,
  loadBalancers,
  clusterDomain,
  policyDrops,
  encapType,
}: Settings): ChosenCapabilities {
  return {
    loadBalancers: enableLb === 'true',
    externalIps: externalIps === 'Allow',
    onlyClassedLoadBalancers: loadBalancers === 'Classed',
    clusterDomain: clusterDomain.toLowerCase().replace(/\.$/, ''),
    dropSamples: policyDrops,
    shortKeys: hasShortKeys(encapType),
  };
}

async function lead({ settings, client, registry, signal, log, onStarted }: Leadership): Promise<void> {
  const databases = await findDatabases({ settings, client, namespace: settings.namespace, signal, log });
  const northbound = await openNorthbound({
    ...northboundOf(databases),
    signal,
    onState: connectionLog({ log, signal, database: 'OVN_Northbound', remotes: databases.remotes('nb') }),
  });

  const cluster = new Cluster({
    ...northbound.capabilities,
    ...chosen(settings),
    apiServer: await apiServerAddresses({ client, signal, log }),
  });
  const dirty = new DirtyKeys(cluster);
  cluster.onChange((change) => dirty.changed(change));
  const metrics = openMetrics(registry, cluster);
  const writer = new ObjectWriter({
    signal,
    log,
    timing: writeLimits,
    onRefused: (object, error) => log.info({ object, reason: error.reason, error: error.message }, 'write refused'),
  });
  const bootstrap = new Bootstrap({ client, writer, defaultCidr: settings.defaultCidr, joinCidr: settings.joinCidr });
  const target = openOvsdbTarget({
    client: northbound.client,
    room,
    ownEntries,
    ownerOf: ownerByName,
    logger: log,
    isFirstWhole: () => hasMovedPolicies(northbound, cluster),
    onTransaction(figures) {
      metrics.transaction(figures);
      rounds.sent(performance.now() - figures.ms);
    },
  });
  const statusWriter = new StatusWriter({
    view: cluster,
    client,
    pending: new PendingWrites(writer, (key) => versionOf(cluster, key)),
    events: new EventRecorder({ client, component: 'isthmus-controller', instance: settings.identity, signal, log }),
    rows: northbound,
    refusals: (key) => rounds.refusals(key),
    nowMs: Date.now,
  });
  const memory = new IdleMemory();
  const rounds = new Rounds({
    cluster,
    dirty,
    target,
    publish: (owner) => statusWriter.publish(owner),
    onRound(figures) {
      metrics.round(figures);
      memory.worked();
    },
    onSent: (ms) => metrics.sent(ms),
  });

  const gatewayHolders = new GatewayHolders({
    cluster,
    former: northbound.gatewayOrders(),
    onChange: () => rounds.request(),
  });
  const upstreams = new Upstreams({ cluster, onChange: () => rounds.request() });
  const southbound = new Southbound({
    databases,
    signal,
    view: cluster,
    log,
    onChassis(names) {
      cluster.setChassis(names);
      rounds.request();
    },
    onMonitors(states) {
      cluster.setMonitors(states);
      rounds.request();
    },
    onHolders: (holders) => gatewayHolders.set(holders),
    onTunnels(types) {
      cluster.tunnels.set(types);
      rounds.request();
    },
    hasShortKeys: cluster.capabilities.shortKeys === true,
    onUnreachable(ports) {
      cluster.unreachablePorts.set(ports);
      rounds.request();
    },
    onRefused: () => metrics.southboundRefused(),
  });
  void southbound.open();
  const domains = new DomainWatch({
    cluster,
    servers: parseServers(settings.dnsServers),
    signal,
    log,
    onChange: () => rounds.request(),
  });
  const idlePolicies = new IdlePolicies({ cluster, onChange: () => rounds.request() });
  // The IP object of a port is deleted only once the database has forgotten the port.
  northbound.onPortGone((port) => statusWriter.publish(`ip/${port}`));
  northbound.followForeignPorts((port, foreign) => {
    cluster.setForeignPort(port, foreign);
    rounds.request();
  });
  await openWatches({
    client,
    signal,
    log,
    onChange(kind, name, after) {
      cluster.change(kind, name, after);
      if (kind === 'nodes') southbound.request();
      bootstrap.seen(kind, name, after !== undefined);
      rounds.request();
    },
  });
  await bootstrap.run(cluster, signal);
  cluster.restore(northbound.portRecords(), northbound.nodeHolders(), northbound.gatewayOrders());
  upstreams.restore(northbound.upstreamSessions());
  northbound.onUpstreams(() => upstreams.set(northbound.upstreamSessions()));
  cluster.policies.restoreIsolated(northbound.isolatedPorts());
  cluster.setFormerPolicies(northbound.formerPolicies());
  cluster.domains.restore(northbound.domainRecords(), Date.now());
  await Promise.all([southbound.settled(), domains.start()]);
  idlePolicies.start();
  rounds.start();
  southbound.start();
  log.info({ pods: cluster.pods.size, subnets: cluster.subnets.size, nodes: cluster.nodes.size }, 'first round done');
  onStarted();
  void endFormerPolicies({ cluster, northbound, rounds, log });

  await untilAborted(signal);
  memory.close();
  domains.close();
  idlePolicies.close();
  gatewayHolders.close();
  upstreams.close();
  rounds.close();
  target.close();
  statusWriter.close();
  await writer.close();
  await Promise.all([northbound.client.close(), southbound.close(), databases.close()]);
}

interface TakeOver {
  readonly cluster: Cluster;
  readonly northbound: Pick<Northbound, 'hasForeignPorts'>;
  readonly rounds: Rounds;
  readonly log: Logger;
}

/** Ends the rows of a former Kube-OVN's policies once others have replaced them, unless they have ports that were not taken over. */
async function endFormerPolicies({ cluster, northbound, rounds, log }: TakeOver): Promise<void> {
  const rows = cluster.formerPolicyRows;
  if (rows.length === 0) return;
  await rounds.untilApplied();
  const held = rows.filter(({ table, name }) => table === 'Port_Group' && northbound.hasForeignPorts(name));
  if (held.length > 0) {
    const groups = held.map(({ name }) => name);
    log.warn(
      { groups },
      'network policies of Kube-OVN stay in force until the next start: they have ports that Isthmus did not adopt',
    );
    return;
  }
  cluster.setFormerPolicies([]);
  rounds.request();
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

runRoom(room, async (signal, log) => {
  const settings = parseFlags(flags, process.argv.slice(2), process.env);
  const { namespace, identity, metricsAddress: address } = settings;
  const registry = createRegistry(room);
  const client = openKube({ kubeconfig: settings.kubeconfig, userAgent: 'isthmus-controller' });
  if (settings.dryRun) {
    const databases = await findDatabases({ settings, client, namespace, signal, log });
    const text = await preview({
      northbound: { ...northboundOf(databases), signal },
      client,
      basics: settings,
      capabilities: chosen(settings),
      signal,
      log,
    });
    process.stdout.write(text);
    await Promise.all([databases.close(), client.close()]);
    return;
  }
  // A standby is ready to take over; a leader is ready once its first round is done.
  const state = { isReady: true };
  const health = await serveHealth({ address, ready: () => state.isReady, registry });
  await runWithLease({
    client,
    namespace,
    name: 'isthmus-controller',
    identity,
    signal,
    log,
    lead: (leading) => {
      state.isReady = false;
      const onStarted = (): void => {
        state.isReady = true;
      };
      return lead({ settings, client, registry, signal: leading, log, onStarted });
    },
  });
  await health.close();
  await client.close();
});
