/**
 * Reads the cluster's northbound and southbound databases, if their sockets were given. To learn whether northd and the
 * ovn-controllers follow, it works as `ovn-nbctl --wait=hv sync`: it increments NB_Global.nb_cfg and observes which
 * programs report the number. Nothing else is written. Called by diagnose and verify.
 */
import { openOvsdb, type OvsdbClient } from 'ovsdb-client';
import type { Problem } from '../../lib/desired/problem.ts';
import { raiseNbCfg, readNbGlobal } from '../../lib/ovn/nb-cfg.ts';
import { ownerIdOf } from '../../lib/ovn/owner.ts';
import { southbound } from '../../lib/ovn/typed-cache.ts';
import { type Subscribe, waitAtMost } from '../../lib/run/wait-until.ts';
import type { ChassisFacts, OvnFacts, OwnedRow } from '../model/ovn-facts.ts';

export interface DatabaseOptions {
  /** Remotes such as `unix:PATH`; empty if the user gave none. */
  readonly nb: readonly string[];
  readonly sb: readonly string[];
  /** Timeout for each reply. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const ownedNorthbound = [
  'Logical_Switch',
  'Logical_Switch_Port',
  'Logical_Router_Port',
  'Logical_Router_Static_Route',
  'Logical_Router_Policy',
  'Gateway_Chassis',
  'HA_Chassis_Group',
  'HA_Chassis',
] as const;
const ownedSouthbound = ['Chassis'] as const;

const northboundMonitor = {
  NB_Global: ['nb_cfg', 'sb_cfg'],
  ...Object.fromEntries(ownedNorthbound.map((table) => [table, ['external_ids']])),
};
const southboundMonitor = {
  Chassis: ['name', 'hostname', 'encaps', 'other_config', 'external_ids'],
  Chassis_Private: ['name', 'nb_cfg'],
  Encap: ['ip'],
  Port_Binding: ['logical_port', 'chassis'],
};

/** Undefined if no socket was given. */
export async function readDatabases(options: DatabaseOptions): Promise<OvnFacts | undefined> {
  if (options.nb.length + options.sb.length === 0) return undefined;
  const [nb, sb] = await Promise.all([
    open(options, options.nb, 'OVN_Northbound', northboundMonitor),
    open(options, options.sb, 'OVN_Southbound', southboundMonitor),
  ]);
  try {
    const asked = isClient(nb) ? await askToFollow(nb, isClient(sb) ? sb : undefined, options) : undefined;
    return {
      silent: [nb, sb].flatMap((side) => (side === undefined || isClient(side) ? [] : [side])),
      isNorthdCurrent: asked?.isNorthdCurrent,
      chassis: isClient(sb) ? chassisOf(sb, asked?.wanted) : [],
      holders: isClient(sb) ? holdersOf(sb) : new Map(),
      interconnectRows: [
        ...(isClient(nb) ? ownedRows(nb, 'NB', ownedNorthbound) : []),
        ...(isClient(sb) ? ownedRows(sb, 'SB', ownedSouthbound) : []),
      ],
    };
  } finally {
    await Promise.all([nb, sb].filter(isClient).map((side) => side.close()));
  }
}

function isClient(side: OvsdbClient | Problem | undefined): side is OvsdbClient {
  return side !== undefined && 'cache' in side;
}

async function open(
  { timeoutMs, signal }: DatabaseOptions,
  remotes: readonly string[],
  database: string,
  monitor: Readonly<Record<string, readonly string[] | undefined>>,
): Promise<OvsdbClient | Problem | undefined> {
  if (remotes.length === 0) return undefined;
  const opening = new AbortController();
  const late = setTimeout(() => opening.abort(), timeoutMs);
  try {
    return await openOvsdb({ remotes, database, monitor, signal: AbortSignal.any([signal, opening.signal]) });
  } catch (error) {
    signal.throwIfAborted();
    if (!opening.signal.aborted) throw error;
    const message = `${database} did not answer at ${remotes.join(', ')} within ${timeoutMs} ms: look at its ovsdb-server`;
    return { code: 'DatabaseSilent', message };
  } finally {
    clearTimeout(late);
  }
}

interface Asked {
  readonly isNorthdCurrent: boolean;
  /** The number that all programs must report; undefined if northd did not pass one on. */
  readonly wanted: number | undefined;
}

async function askToFollow(nb: OvsdbClient, sb: OvsdbClient | undefined, options: DatabaseOptions): Promise<Asked> {
  const wanted = await raiseNbCfg(nb);
  if (wanted === undefined) return { isNorthdCurrent: false, wanted };
  const isNorthdCurrent = await until(nb, () => (readNbGlobal(nb.cache, 'sb_cfg') ?? 0) >= wanted, options);
  if (!isNorthdCurrent || sb === undefined) return { isNorthdCurrent, wanted: undefined };
  await until(
    sb,
    () => chassisOf(sb, wanted).every(({ isRemote, isCurrent }) => isRemote || isCurrent === true),
    options,
  );
  return { isNorthdCurrent, wanted };
}

/** Whether the condition became true in time, before the signal. */
async function until(
  client: OvsdbClient,
  isTrue: () => boolean,
  { timeoutMs, signal }: DatabaseOptions,
): Promise<boolean> {
  const onAbort: Subscribe = (check) => {
    signal.addEventListener('abort', check);
    return () => signal.removeEventListener('abort', check);
  };
  const sources: readonly Subscribe[] = [(check) => client.subscribe(check), onAbort];
  await waitAtMost(sources, () => signal.aborted || isTrue(), timeoutMs);
  return isTrue();
}

function chassisOf(sb: OvsdbClient, wanted: number | undefined): readonly ChassisFacts[] {
  const tables = southbound(sb.cache);
  const taken = new Map([...tables('Chassis_Private').rows.values()].map(({ name, nb_cfg }) => [name, nb_cfg]));
  return [...tables('Chassis').rows.values()]
    .map(({ name, hostname, encaps, other_config }) => ({
      name,
      hostname,
      addresses: encaps.flatMap((uuid) => tables('Encap').rows.get(uuid)?.ip ?? []),
      isRemote: other_config['is-remote'] === 'true',
      isInterconnect: other_config['is-interconn'] === 'true',
      isCurrent: wanted === undefined ? undefined : (taken.get(name) ?? -1) >= wanted,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function holdersOf(sb: OvsdbClient): ReadonlyMap<string, string> {
  const tables = southbound(sb.cache);
  const holders = new Map<string, string>();
  for (const { logical_port: port, chassis } of tables('Port_Binding').rows.values()) {
    if (!port.startsWith('cr-')) continue;
    holders.set(port, chassis === null ? '' : (tables('Chassis').rows.get(chassis)?.name ?? ''));
  }
  return holders;
}

function ownedRows(client: OvsdbClient, database: 'NB' | 'SB', tables: readonly string[]): readonly OwnedRow[] {
  return tables.flatMap((table) =>
    [...client.cache.table(table).rows.values()].flatMap((row) => {
      const owner = ownerIdOf(row);
      return owner?.startsWith('interconnect/') === true ? [{ database, table, owner }] : [];
    }),
  );
}
