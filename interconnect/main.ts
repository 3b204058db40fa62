/** Wires the agent: flags, Kubernetes, the two databases, one leader per cluster. */
import { openOvsdb, type TlsFiles } from 'ovsdb-client';
import { Gauge, type Registry } from 'prom-client';
import { openKube } from '../lib/kube/client.ts';
import { runWithLease } from '../lib/kube/leader.ts';
import type { KubeClient } from '../lib/kube/types.ts';
import { list, parseFlags, text, UsageError, type FlagValues } from '../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../lib/run/health.ts';
import type { Logger } from '../lib/run/logger.ts';
import { runRoom } from '../lib/run/room.ts';
import { runAgent, type AgentView } from './agent.ts';
import { northboundMonitor, southboundMonitor } from './watch/databases.ts';

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

runRoom('interconnect', async (signal, log) => {
  const flags = parseFlags(flagSpec, process.argv.slice(2), process.env);
  const client = openKube({ kubeconfig: flags.kubeconfig, userAgent: 'isthmus-interconnect' });
  const registry = createRegistry('interconnect');
  const report = agentMetrics(registry);
  // A candidate that waits for the lease is as ready as it can be.
  const health = await serveHealth({ address: flags.metricsAddress, ready: () => true, registry });
  const { namespace, identity } = flags;
  const lead = (leading: AbortSignal) => leadAgent(client, flags, log, report, leading);
  await runWithLease({ client, namespace, name: 'isthmus-interconnect', identity, signal, log, lead });
  await health.close();
  await client.close();
});

async function leadAgent(
  client: KubeClient,
  flags: Flags,
  log: Logger,
  report: (view: AgentView) => void,
  signal: AbortSignal,
): Promise<void> {
  const common = { signal, ...tlsOf(flags) };
  const [northbound, southbound] = await Promise.all([
    openOvsdb({ ...common, remotes: flags.nb, database: 'OVN_Northbound', monitor: northboundMonitor }),
    openOvsdb({
      ...common,
      remotes: flags.sb,
      database: 'OVN_Southbound',
      monitor: southboundMonitor,
      indexes: { Port_Binding: [['logical_port']] },
    }),
  ]);
  const { namespace, identity } = flags;
  await runAgent(
    { client, northbound, southbound, namespace, identity, log, now: Date.now, random: Math.random },
    signal,
    report,
  );
  await Promise.all([northbound.close(), southbound.close()]);
}

/** Returns what sets the figures after each round. */
function agentMetrics(registry: Registry): (view: AgentView) => void {
  const make = (name: string, help: string) =>
    new Gauge({ name: `isthmus_interconnect_${name}`, help, registers: [registry] });
  const connected = make('hub_connected', '1 while the session with the hub is open');
  const remotes = make('remote_clusters', 'Other clusters that the hub knows');
  const active = make('routes_active', 'Routes to other clusters in use');
  const rejected = make('routes_rejected', 'Routes of other clusters that were not taken');
  return ({ isConnected, network }) => {
    const routes = [...network.remotes.values()].flatMap((plan) => plan.routes);
    const refused = routes.filter((route) => route.rejected !== undefined).length;
    connected.set(isConnected ? 1 : 0);
    remotes.set(network.remotes.size);
    active.set(routes.length - refused);
    rejected.set(refused);
  };
}

function tlsOf({ ovnCa: ca, ovnCert: cert, ovnKey: key }: Flags): { tls?: TlsFiles } {
  if (ca === undefined && cert === undefined && key === undefined) return {};
  if (ca === undefined || cert === undefined || key === undefined)
    throw new UsageError('--ovn-ca, --ovn-cert and --ovn-key go together', 2);
  return { tls: { ca, cert, key } };
}
