/** The hub's commands: `init` (authority), `serve` (databases and members), `token` (prints a join token). */
import { once } from 'node:events';
import { openOvsdb, type TlsFiles } from 'ovsdb-client';
import { Gauge } from 'prom-client';
import { list, parseFlags, text, toggle, UsageError, type FlagSpec } from '../../lib/run/flags.ts';
import { createRegistry, serveHealth } from '../../lib/run/health.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { runRoom } from '../../lib/run/room.ts';
import { createToken } from '../../lib/api/join-token.ts';
import { startHub } from './hub.ts';
import { HubStateError, initState, Registry } from './state/registry.ts';
import { icNorthboundMonitor, icSouthboundMonitor } from './watch/databases.ts';

const clusterName = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;
const stateDir = text('folder of the hub: its authority, its members, redeemed tokens');

const commands = {
  init: {
    'state-dir': stateDir,
    address: text('host name or address that members reach the hub by'),
  },
  serve: {
    'state-dir': stateDir,
    listen: text('host:port for members', '0.0.0.0:6650'),
    icnb: list('remotes of the OVN_IC_Northbound database'),
    icsb: list('remotes of the OVN_IC_Southbound database'),
    'transit-cidr': text('network of the transit switch; one address a member', '100.100.0.0/16'),
    'metrics-address': text('host:port of /metrics, /healthz and /readyz', '127.0.0.1:10668'),
    'ovn-ca': text('CA file for ssl: remotes', undefined),
    'ovn-cert': text('certificate file for ssl: remotes', undefined),
    'ovn-key': text('key file for ssl: remotes', undefined),
  },
  token: {
    'state-dir': stateDir,
    hub: text('host:port of the hub as the member reaches it; default: the address of init and port 6650', undefined),
    cluster: text('name the cluster will have among the members'),
    ttl: text('how long the token can be redeemed: 30m, 1h, 2d', '1h'),
    replace: toggle('a present member of this name loses its membership when the token is redeemed'),
  },
} as const satisfies Record<string, FlagSpec>;

runRoom('hub', async (signal, log) => {
  const [command, ...argv] = process.argv.slice(2);
  try {
    if (command === 'init') await init(argv, log);
    else if (command === 'serve') await serve(argv, signal, log);
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

async function init(argv: readonly string[], log: Logger): Promise<void> {
  const flags = parseFlags(commands.init, argv, process.env);
  const isNew = await initState(flags.stateDir, flags.address, Date.now());
  log.info({ stateDir: flags.stateDir }, isNew ? 'made a hub' : 'the hub is there already');
}

async function token(argv: readonly string[]): Promise<void> {
  const flags = parseFlags(commands.token, argv, process.env);
  if (!clusterName.test(flags.cluster))
    throw new UsageError(`--cluster ${flags.cluster}: up to 40 lower-case letters, digits and "-", as a DNS label`, 2);
  const registry = await Registry.open(flags.stateDir);
  const expiresMs = Date.now() + durationMs(flags.ttl);
  const hub = flags.hub ?? `${registry.address.includes(':') ? `[${registry.address}]` : registry.address}:6650`;
  process.stdout.write(
    `${createToken(registry.authority, { cluster: flags.cluster, hub, expiresMs, replace: flags.replace })}\n`,
  );
}

function durationMs(value: string): number {
  const match = /^([1-9]\d{0,5})([smhd])$/.exec(value);
  const unit = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match?.[2] ?? ''];
  if (match === null || unit === undefined) throw new UsageError(`--ttl ${value}: write for example 30m, 1h or 2d`, 2);
  return Number(match[1]) * unit;
}

async function serve(argv: readonly string[], signal: AbortSignal, log: Logger): Promise<void> {
  const flags = parseFlags(commands.serve, argv, process.env);
  const registry = await Registry.open(flags.stateDir);
  const common = { signal, ...tlsOf(flags) };
  const northbound = await openOvsdb({
    ...common,
    remotes: flags.icnb,
    database: 'OVN_IC_Northbound',
    monitor: icNorthboundMonitor,
  });
  const southbound = await openOvsdb({
    ...common,
    remotes: flags.icsb,
    database: 'OVN_IC_Southbound',
    monitor: icSouthboundMonitor,
  });
  const { listen, transitCidr } = flags;
  const hub = await startHub({ northbound, southbound, registry, listen, transitCidr, now: Date.now, log });
  const metrics = createRegistry('hub');
  gauge(metrics, 'isthmus_hub_sessions', 'Members connected now', () => hub.sessions);
  gauge(metrics, 'isthmus_hub_members', 'Members with rows in the databases', () => hub.members);
  const ready = () => northbound.state === 'synced' && southbound.state === 'synced';
  const health = await serveHealth({ address: flags.metricsAddress, ready, registry: metrics });
  log.info({ listen, transitCidr, members: hub.members }, 'serving');
  if (!signal.aborted) await once(signal, 'abort');
  hub.close();
  await health.close();
  await Promise.all([northbound.close(), southbound.close()]);
}

function gauge(registry: ReturnType<typeof createRegistry>, name: string, help: string, read: () => number): void {
  const metric: Gauge = new Gauge({ name, help, registers: [registry], collect: () => metric.set(read()) });
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
