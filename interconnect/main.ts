/** Wires the agent: flags, Kubernetes, the two databases, one leader per cluster. */
import { openOvsdb, type TlsFiles } from 'ovsdb-client';
import { openKube } from '../lib/kube/client.ts';
import { runWithLease } from '../lib/kube/leader.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { connectionLog } from '../lib/run/connection-log.ts';
import { list, parseFlags, text, UsageError, type FlagValues } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { runAgent } from './agent.ts';
import { agentMetrics, type AgentMetrics } from './metrics.ts';
import { tellWhileOpening } from './status/opening.ts';
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
  nb: list('remotes of the OVN_Northbound database'),
  sb: list('remotes of the OVN_Southbound database'),
  namespace: text('namespace of Isthmus: its Secrets and its Lease', 'kube-system'),
  identity: text('name of this process among the candidates for the lease'),
  'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10669'),
  'ovn-ca': text('CA file for ssl: remotes', undefined),
  'ovn-cert': text('certificate file for ssl: remotes', undefined),
  'ovn-key': text('key file for ssl: remotes', undefined),
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
  const common = { signal, probeIntervalMs, ...tlsOf(flags) };
  const at = (database: string, remotes: readonly string[]) => ({
    ...common,
    database,
    remotes,
    onState: connectionLog({ log, signal, database, remotes }),
  });
  const openings = {
    northbound: openOvsdb({
      ...at('OVN_Northbound', flags.nb),
      monitor: { ...northboundMonitor, ...northboundProgress },
      indexes: northboundIndexes,
    }),
    southbound: openOvsdb({
      ...at('OVN_Southbound', flags.sb),
      monitor: { ...southboundMonitor, ...southboundProgress },
      indexes: southboundIndexes,
    }),
  };
  const [northbound, southbound] = await Promise.all([
    openings.northbound,
    openings.southbound,
    tellWhileOpening(openings, { client, signal, log, now: Date.now }),
  ]);
  const { namespace, identity } = flags;
  await runAgent(
    {
      client,
      northbound,
      southbound,
      namespace,
      identity,
      log,
      now: Date.now,
      random: Math.random,
      onReaction: metrics.reaction,
    },
    signal,
    metrics.watch,
  );
  await Promise.all([northbound.close(), southbound.close()]);
}

function tlsOf({ ovnCa: ca, ovnCert: cert, ovnKey: key }: Flags): { tls?: TlsFiles } {
  if (ca === undefined && cert === undefined && key === undefined) return {};
  if (ca === undefined || cert === undefined || key === undefined)
    throw new UsageError('--ovn-ca, --ovn-cert and --ovn-key go together', 2);
  return { tls: { ca, cert, key } };
}
