/** Wires the agent: flags, Kubernetes, the two databases, one leader per cluster. */
import { openOvsdb } from 'ovsdb-client';
import { openKube } from '../lib/kube/client.ts';
import { runWithLease } from '../lib/kube/leader.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { databaseFlags, findDatabases, type DatabaseName } from '../lib/ovn/databases.ts';
import { connectionLog } from '../lib/run/connection-log.ts';
import { choice, parseFlags, text, UsageError, type FlagValues } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { runAgent } from './agent.ts';
import { agentMetrics, type AgentMetrics } from './status/metrics.ts';
import { reportWhileOpening } from './status/opening.ts';
import {
  northboundIndexes,
  northboundMonitor,
  northboundProgress,
  southboundIndexes,
  southboundMonitor,
  southboundProgress,
} from './watch/databases.ts';

const flagSpec = {
  kubeconfig: text('kubeconfig file; without it the service account of the pod', undefined),
  ...databaseFlags,
  namespace: text('namespace of Isthmus: its Secrets and its Lease', 'kube-system'),
  identity: text('name of this process among the candidates for the lease'),
  'enable-lb': choice('whether switches have load balancers', ['true', 'false'], 'true'),
  'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10669'),
};
type Flags = FlagValues<typeof flagSpec>;

/** A frozen leader of a raft cluster is left for another within three times this. */
const probeIntervalMs = 3000;

runRoom('interconnect', async (signal, log) => {
  const flags = parseFlags(flagSpec, process.argv.slice(2), process.env);
  const client = openKube({ kubeconfig: flags.kubeconfig, userAgent: 'isthmus-interconnect' });
  const registry = createRegistry('interconnect');
  const metrics = agentMetrics(registry, Date.now);
  // A candidate that waits for the lease is as ready as it can be.
  const health = await serveHealth({ address: flags.metricsAddress, ready: () => true, registry });
  const { namespace, identity } = flags;
  const lead = (leading: AbortSignal) => leadAgent(client, flags, log, metrics, leading);
  await runWithLease({ client, namespace, name: 'isthmus-interconnect', identity, signal, log, lead });
  await health.close();
  await client.close();
});

async function leadAgent(
  client: KubeClient,
  flags: Flags,
  log: Logger,
  metrics: AgentMetrics,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, identity } = flags;
  const databases = await findDatabases({ settings: flags, client, namespace, signal, log });
  const at = (database: string, name: DatabaseName) => {
    const access = databases.at(name);
    if (access === undefined) throw new UsageError(`--${name} is missing: the agent needs both databases`, 2);
    const onState = connectionLog({ log, signal, database, remotes: databases.remotes(name) });
    return { ...access, database, signal, probeIntervalMs, onState };
  };
  const openings = {
    northbound: openOvsdb({
      ...at('OVN_Northbound', 'nb'),
      monitor: { ...northboundMonitor, ...northboundProgress },
      indexes: northboundIndexes,
    }),
    southbound: openOvsdb({
      ...at('OVN_Southbound', 'sb'),
      monitor: { ...southboundMonitor, ...southboundProgress },
      indexes: southboundIndexes,
    }),
  };
  const [northbound, southbound] = await Promise.all([
    openings.northbound,
    openings.southbound,
    reportWhileOpening(openings, { client, signal, log, now: Date.now }),
  ]);
  await runAgent(
    {
      client,
      northbound,
      southbound,
      namespace,
      identity,
      hasLoadBalancers: flags.enableLb === 'true',
      log,
      now: Date.now,
      random: Math.random,
      onReaction: metrics.reaction,
    },
    signal,
    metrics.watch,
  );
  await Promise.all([northbound.close(), southbound.close(), databases.close()]);
}
