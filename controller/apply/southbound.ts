/**
 * The southbound database as this room uses it. In: the Nodes, and the existing chassis. Out: a tag on the chassis of
 * nodes, the removal of chassis whose nodes are gone, the names of all chassis, the states of health checks, and which chassis have the
 * ports of routers. The room runs without it: it is opened in parallel, and a missing permission to write is reported once.
 */
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { openOvsdb, OvsdbError, TransactionRejected } from 'ovsdb-client';
import type { Change, Operation, OvsdbClient, Row } from 'ovsdb-client';
import { integerOf, mapOf, textOf, textsOf } from '../../lib/ovn/columns.ts';
import type { Databases } from '../../lib/ovn/databases.ts';
import { connectionLog } from '../../lib/run/connection-log.ts';
import type { Logger } from '../../lib/run/logger.ts';
import { planChassis } from '../plan/node/chassis.ts';
import type { ChassisPlan, ChassisRow } from '../plan/node/chassis.ts';
import { monitorKey, type MonitorState } from '../model/monitors.ts';
import type { View } from '../model/view.ts';

export interface SouthboundOptions {
  /** Without a southbound database, chassis of deleted nodes stay. */
  readonly databases: Pick<Databases, 'at' | 'remotes'>;
  readonly signal?: AbortSignal;
  readonly view: Pick<View, 'nodes'>;
  readonly log: Logger;
  /** Called with the names of all chassis, whenever they change. */
  readonly onChassis: (names: ReadonlySet<string>) => void;
  /** Called with the states of all health checks, then with those that changed; undefined for one that is gone. */
  readonly onMonitors: (states: ReadonlyMap<string, MonitorState | undefined>) => void;
  /** Called with the chassis of each router port that has gateways and is on one of them, by the name of the port, whenever they change. */
  readonly onHolders: (holders: ReadonlyMap<string, string>) => void;
  /** Whether keys of ports have twelve bits, one of them for groups of ports. */
  readonly hasShortKeys: boolean;
  /** With short keys, called with the names of the ports whose keys are longer, whenever they change. */
  readonly onUnreachable: (ports: ReadonlySet<string>) => void;
  /** Called with the types of tunnels that each node of the cluster offers, sorted and joined by commas, whenever they change. */
  readonly onTunnels: (types: ReadonlyMap<string, string>) => void;
  /** Called when a write was not permitted. */
  readonly onRefused: () => void;
}

/** How long a start waits for the chassis. Until they are known, a gateway may use a node without a chassis. */
const patienceMs = 2000;

/** Each has a row for a chassis, by its name. */
const chassisTables = ['Chassis', 'Chassis_Private'] as const;
const monitor = {
  Chassis: ['name', 'hostname', 'external_ids', 'other_config', 'encaps'],
  Encap: ['type'],
  Chassis_Private: ['name'],
  Service_Monitor: ['logical_port', 'protocol', 'ip', 'port', 'status'],
  Port_Binding: ['logical_port', 'type', 'chassis', 'tunnel_key'],
};
/** The ports that stand for those of routers on their gateways; a large cluster has a port for each pod. */
const redirects = ['type', '==', 'chassisredirect'] as const;
const redirectPrefix = 'cr-';
/** OVN keeps the keys that ports have when nodes begin to offer VXLAN. */
const highestShortKey = 2047;
const longKeys = ['tunnel_key', '>', highestShortKey] as const;

export class Southbound {
  readonly #options: SouthboundOptions;
  #client: OvsdbClient | undefined;
  #names = '';
  #holders: string | undefined;
  #unreachable: string | undefined;
  #tunnels: string | undefined;
  /** Writes that were not permitted. They are not repeated until the planned writes differ. */
  #refused = '';
  readonly #known = Promise.withResolvers<void>();
  #isStarted = false;
  #isRunning = false;
  #isDue = false;

  constructor(options: SouthboundOptions) {
    this.#options = options;
  }

  /** Connects, however long that takes, and reports the chassis. */
  async open(): Promise<void> {
    const { databases, signal, log, hasShortKeys } = this.#options;
    const where = { Port_Binding: hasShortKeys ? [redirects, longKeys] : [redirects] };
    const access = databases.at('sb');
    if (access === undefined) return this.#known.resolve();
    const database = 'OVN_Southbound';
    const onState = connectionLog({ log, signal, database, remotes: databases.remotes('sb') });
    try {
      this.#client = await openOvsdb({ ...access, database, monitor, where, onState, ...(signal && { signal }) });
    } catch (error) {
      if (signal?.aborted === true) return;
      throw error;
    }
    const rows = [...this.#client.cache.table('Service_Monitor').rows.values()];
    this.#tellMonitors(rows.map((after) => ({ table: 'Service_Monitor', before: undefined, after })));
    this.#client.subscribe((changes) => {
      if (changes.some(({ table }) => table === 'Service_Monitor')) this.#tellMonitors(changes);
      this.request();
    });
    this.#client.onState((state) => state === 'synced' && this.request());
    this.request();
    this.#known.resolve();
  }

  /** Resolves once the chassis are known, or after 2 seconds if the database does not answer. */
  async settled(): Promise<void> {
    await Promise.race([this.#known.promise, setTimeoutAsync(patienceMs, undefined, { ref: false })]);
  }

  /** Starts to write rows. Call once all nodes are known. */
  start(): void {
    this.#isStarted = true;
    this.request();
  }

  async close(): Promise<void> {
    await this.#client?.close();
  }

  /** Call after nodes or chassis changed. */
  request(): void {
    if (this.#client === undefined) return;
    this.#tell(this.#client);
    this.#isDue = true;
    if (this.#isStarted && !this.#isRunning) void this.#write(this.#client);
  }

  #tell({ cache }: OvsdbClient): void {
    this.#tellHolders(holdersOf(cache));
    this.#tellTunnels(tunnelTypesIn(cache));
    if (this.#options.hasShortKeys) this.#tellUnreachable(cache);
    const names = [...cache.table('Chassis').rows.values()].map((row) => textOf(row, 'name')).sort();
    if (names.join() === this.#names) return;
    this.#names = names.join();
    this.#options.onChassis(new Set(names));
  }

  #tellHolders(holders: ReadonlyMap<string, string>): void {
    const text = JSON.stringify([...holders]);
    if (text === this.#holders) return;
    this.#holders = text;
    this.#options.onHolders(holders);
  }

  #tellTunnels(types: ReadonlyMap<string, string>): void {
    const text = JSON.stringify([...types]);
    if (text === this.#tunnels) return;
    this.#tunnels = text;
    this.#options.onTunnels(types);
  }

  #tellUnreachable(cache: OvsdbClient['cache']): void {
    const ports = [...cache.table('Port_Binding').rows.values()]
      .filter((row) => integerOf(row, 'tunnel_key') > highestShortKey)
      .map((row) => textOf(row, 'logical_port'))
      .sort();
    if (ports.join() === this.#unreachable) return;
    this.#unreachable = ports.join();
    if (ports.length > 0)
      this.#options.log.warn(
        { ports: ports.slice(0, 20), count: ports.length },
        'VXLAN does not reach ports with keys above 2047: create them again',
      );
    this.#options.onUnreachable(new Set(ports));
  }

  #tellMonitors(changes: readonly Pick<Change, 'table' | 'before' | 'after'>[]): void {
    const states = new Map<string, MonitorState | undefined>();
    for (const { table, before, after } of changes) {
      if (table !== 'Service_Monitor') continue;
      if (before !== undefined && !states.has(keyOfMonitor(before))) states.set(keyOfMonitor(before), undefined);
      if (after !== undefined) states.set(keyOfMonitor(after), textOf(after, 'status'));
    }
    this.#options.onMonitors(states);
  }

  async #write(client: OvsdbClient): Promise<void> {
    this.#isRunning = true;
    // Changes of one turn of the event loop are written together.
    await Promise.resolve();
    while (this.#isDue && client.state === 'synced') {
      this.#isDue = false;
      const plan = planChassis(this.#options.view, rowsOf(client));
      const operations = operationsOf(plan);
      if (operations.length === 0 || JSON.stringify(operations) === this.#refused) continue;
      for (const [chassis, reason] of plan.removals) this.#options.log.info({ chassis, reason }, 'chassis removed');
      await this.#transact(client, operations);
    }
    this.#isRunning = false;
  }

  async #transact(client: OvsdbClient, operations: readonly Operation[]): Promise<void> {
    const { log, onRefused } = this.#options;
    try {
      await client.transact(operations);
      this.#refused = '';
    } catch (error) {
      // If the connection was lost, the next sync requests the write again.
      if (!(error instanceof OvsdbError)) throw error;
      if (!(error instanceof TransactionRejected)) return;
      this.#refused = JSON.stringify(operations);
      onRefused();
      log.warn(
        { reason: error.message },
        'the southbound database refused to tag or remove chassis: give the controller a remote without RBAC, or a role with that permission; until then, chassis of deleted nodes remain',
      );
    }
  }
}

function rowsOf({ cache }: OvsdbClient): readonly ChassisRow[] {
  return [...cache.table('Chassis').rows.values()].map((row) => {
    const externalIds = mapOf(row, 'external_ids');
    return {
      name: textOf(row, 'name'),
      hostname: textOf(row, 'hostname'),
      externalIds,
      isRemote: { ...externalIds, ...mapOf(row, 'other_config') }['is-remote'] === 'true',
    };
  });
}

/** Chassis of other clusters are not among them, nor a node whose chassis has no tunnels yet. */
function tunnelTypesIn(cache: OvsdbClient['cache']): ReadonlyMap<string, string> {
  const encaps = cache.table('Encap').rows;
  const offers = [...cache.table('Chassis').rows.values()].flatMap((row): (readonly [string, string])[] => {
    if ({ ...mapOf(row, 'external_ids'), ...mapOf(row, 'other_config') }['is-remote'] === 'true') return [];
    const offered = textsOf(row, 'encaps').flatMap((uuid) => {
      const encap = encaps.get(uuid);
      return encap === undefined ? [] : [textOf(encap, 'type')];
    });
    return offered.length === 0 ? [] : [[textOf(row, 'hostname'), [...new Set(offered)].sort().join()]];
  });
  return new Map(offers.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function holdersOf(cache: OvsdbClient['cache']): ReadonlyMap<string, string> {
  const chassis = cache.table('Chassis').rows;
  const holders = new Map<string, string>();
  for (const row of cache.table('Port_Binding').rows.values()) {
    const holder = chassis.get(textOf(row, 'chassis'));
    const name = textOf(row, 'logical_port');
    if (holder !== undefined && name.startsWith(redirectPrefix))
      holders.set(name.slice(redirectPrefix.length), textOf(holder, 'name'));
  }
  return holders;
}

function keyOfMonitor(row: Row): string {
  return monitorKey(textOf(row, 'logical_port'), textOf(row, 'protocol'), textOf(row, 'ip'), integerOf(row, 'port'));
}

function operationsOf({ tags, removals }: ChassisPlan): readonly Operation[] {
  const operations: Operation[] = [];
  for (const [name, entries] of tags) {
    operations.push({
      op: 'mutate',
      table: 'Chassis',
      where: [['name', '==', name]],
      // An insert leaves entries that are there as they are.
      mutations: [
        ['external_ids', 'delete', Object.keys(entries)],
        ['external_ids', 'insert', entries],
      ],
    });
  }
  for (const name of removals.keys()) {
    for (const table of chassisTables) operations.push({ op: 'delete', table, where: [['name', '==', name]] });
  }
  return operations;
}
