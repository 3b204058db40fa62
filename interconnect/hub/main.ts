/** The hub's commands: `serve` (databases and members), `token` (prints a join token). */
import { once } from 'node:events';
import type { TlsFiles } from 'ovsdb-client';
import { createToken } from '../../lib/pki/join-token.ts';
import { openKube } from '../../lib/kube/client.ts';
import { isKubeError, KubeConfigError } from '../../lib/kube/errors.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { integer, list, parseFlags, text, toggle, UsageError, type FlagSpec } from '../../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../../lib/run/health.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { runRoom } from '../../lib/run/room.ts';
import { ensureAuthority } from './apply/authority.ts';
import { openKubeStore } from './status/kube-store.ts';
import { openHubEndpoint } from './apply/endpoint.ts';
import { HubStateError } from './model/errors.ts';
import { defaultTunnelCidr, startHub } from './hub.ts';
import { hubMetrics } from './status/metrics.ts';
import { clusterName } from './model/record.ts';
import { Registry } from './apply/registry.ts';
import { openDatabases } from './watch/open-databases.ts';

const common = {
  kubeconfig: text(
    'kubeconfig file of the cluster that keeps the state; without it the service account of the pod',
    undefined,
  ),
  namespace: text('namespace of the Secrets of the hub', 'kube-system'),
};

const commands = {
  serve: {
    ...common,
    listen: text('host:port for members', '0.0.0.0:6650'),
    icnb: list('remotes of the OVN_IC_Northbound database; several are the members of one raft cluster'),
    icsb: list('remotes of the OVN_IC_Southbound database; several are the members of one raft cluster'),
    'transit-cidr': list('networks of the transit switch ts, one per IP family; each path gets an eighth of each', [
      '100.100.0.0/16',
    ]),
    'tunnel-cidr': text(
      'network of the addresses of gateways within encrypted tunnels; nothing else in any member may use it',
      defaultTunnelCidr,
    ),
    paths: integer('number of paths of transit switches that do not set it, 1 to 8', 2),
    'stale-after': text(
      'time without a session after which the rows of an unreachable member are removed: 10m, 1h',
      '10m',
    ),
    'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10668'),
    'ovn-ca': text('CA file for ssl: remotes', undefined),
    'ovn-cert': text('certificate file for ssl: remotes', undefined),
    'ovn-key': text('key file for ssl: remotes', undefined),
  },
  token: {
    ...common,
    hub: text('host:port of the hub as the member reaches it'),
    cluster: text('name of the cluster among the members'),
    ttl: text('how long the token can be redeemed: 30m, 1h, 2d', '1h'),
    allow: list('prefixes within which the cluster may offer its own; empty: any', []),
    replace: toggle('redeeming the token ends the membership of a present member of this name'),
  },
} as const satisfies Record<string, FlagSpec>;

runRoom('hub', async (signal, log) => {
  const [command, ...argv] = process.argv.slice(2);
  try {
    if (command === 'serve') await serve(argv, signal, log);
    else if (command === 'token') await token(argv);
    else throw new UsageError(usage(), command === '--help' || command === '-h' ? 0 : 2);
  } catch (error) {
    if (error instanceof HubStateError) throw new UsageError(error.message, 2);
    throw error;
  }
});

function usage(): string {
  return `say what to do: ${Object.keys(commands).join(', ')}; \`<command> --help\` lists its flags`;
}

async function token(argv: readonly string[]): Promise<void> {
  const { kubeconfig, namespace, hub, cluster, ttl, allow, replace } = parseFlags(commands.token, argv, process.env);
  if (!clusterName.test(cluster))
    throw new UsageError(`--cluster ${cluster}: up to 40 lower-case letters, digits and "-", as a DNS label`, 2);
  const wrong = allow.find((prefix) => parseCidr(prefix) === undefined);
  if (wrong !== undefined) throw new UsageError(`--allow ${wrong}: write prefixes such as 10.16.0.0/16`, 2);
  const expiresMs = Date.now() + durationMs('ttl', ttl);
  const client = openKube({ kubeconfig, userAgent: 'isthmus-hub' });
  try {
    const authority = await ensureAuthority(client, namespace, Date.now());
    const wish = { cluster, hub, expiresMs, replace, allowedPrefixes: allow };
    process.stdout.write(`${createToken(authority, wish)}\n`);
  } catch (error) {
    if (!isKubeError(error) && !(error instanceof KubeConfigError)) throw error;
    throw new UsageError(`the authority of the hub can be neither read nor created: ${error.message}`, 2);
  } finally {
    await client.close();
  }
}

function durationMs(flag: string, value: string): number {
  const match = /^([1-9]\d{0,5})([smhd])$/.exec(value);
  const unit = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match?.[2] ?? ''];
  if (match === null || unit === undefined)
    throw new UsageError(`--${flag} ${value}: write for example 30m, 1h or 2d`, 2);
  return Number(match[1]) * unit;
}

async function serve(argv: readonly string[], signal: AbortSignal, log: Logger): Promise<void> {
  const flags = parseFlags(commands.serve, argv, process.env);
  const { listen, paths, namespace, tunnelCidr, transitCidr: transitCidrs } = flags;
  const tunnels = parseCidr(tunnelCidr);
  if (tunnels?.family !== 4)
    throw new UsageError(`--tunnel-cidr ${tunnelCidr}: write a network such as 100.126.0.0/16`, 2);
  const staleAfterMs = durationMs('stale-after', flags.staleAfter);
  const client = openKube({ kubeconfig: flags.kubeconfig, userAgent: 'isthmus-hub' });
  const store = await openKubeStore({ client, namespace, signal, log, now: Date.now });
  const registry = new Registry(store);
  const endpoint = await openHubEndpoint({ listen, registry, now: Date.now, log });
  const metrics = createRegistry('hub');
  // Members must reach the hub whether or not its databases answer: it reports that to them.
  const health = await serveHealth({ address: flags.metricsAddress, ready: () => true, registry: metrics });
  const { northbound, southbound } = await openDatabases({
    northbound: flags.icnb,
    southbound: flags.icsb,
    common: { signal, ...tlsOf(flags) },
    now: Date.now,
    onSilent: (databases) => endpoint.silent(databases),
    log,
  });
  const times = { staleAfterMs };
  const hub = await startHub({
    northbound,
    southbound,
    registry,
    endpoint,
    transitCidrs,
    paths,
    tunnelCidr: formatCidr(tunnels),
    times,
    now: Date.now,
    log,
  });
  hubMetrics(metrics, hub, registry.authority.certificate);
  log.info({ listen, transitCidrs, paths, members: hub.members }, 'serving');
  if (!signal.aborted) await once(signal, 'abort');
  hub.close();
  registry.close();
  await health.close();
  await store.close();
  await Promise.all([northbound.close(), southbound.close(), client.close()]);
}

function tlsOf(flags: { ovnCa?: string | undefined; ovnCert?: string | undefined; ovnKey?: string | undefined }): {
  tls?: TlsFiles;
} {
  const { ovnCa: ca, ovnCert: cert, ovnKey: key } = flags;
  if (ca === undefined && cert === undefined && key === undefined) return {};
  if (ca === undefined || cert === undefined || key === undefined)
    throw new UsageError('--ovn-ca, --ovn-cert and --ovn-key go together', 2);
  return { tls: { ca, cert, key } };
}
