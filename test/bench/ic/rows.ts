/** The interconnect's rows in the databases of a lab, read with OVN's own programs. */
import { join } from 'node:path';
import { ovnProgram } from 'ovsdb-client/testing';
import { externalId } from '../../../lib/api/names.ts';
import { type ClusterLayout, hubRemotes } from '../../lab/layout.ts';
import type { LabHandle } from '../../lab/lib/lab.ts';
import { run } from '../../lab/run.ts';

export interface DumpedRow {
  readonly database: string;
  readonly table: string;
  /** In OVSDB's JSON format. */
  readonly columns: Readonly<Record<string, unknown>>;
}

interface DumpedTable {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

/** Columns that OVN itself updates all the time. */
const volatileColumns = new Set(['up', 'nb_cfg', 'nb_cfg_timestamp', 'sb_cfg', 'hv_cfg', 'hv_cfg_timestamp', 'status']);

async function dump(remotes: string, schema: string, database: string): Promise<DumpedRow[]> {
  const text = await run([ovnProgram('ovsdb-client'), 'dump', '--format=json', remotes, schema]);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => {
      const { caption, headings, data } = JSON.parse(line) as DumpedTable;
      const table = caption.replace(/ table$/, '');
      return data.map((values) => ({
        database,
        table,
        columns: Object.fromEntries(headings.map((heading, at) => [heading, values[at]])),
      }));
    });
}

export async function dumpCluster({ name, dir }: ClusterLayout): Promise<DumpedRow[]> {
  const dumps = await Promise.all([
    dump(`unix:${join(dir, 'nb.sock')}`, 'OVN_Northbound', `${name}/nb`),
    dump(`unix:${join(dir, 'sb.sock')}`, 'OVN_Southbound', `${name}/sb`),
  ]);
  return dumps.flat();
}

export async function dumpHub({ layout }: LabHandle): Promise<DumpedRow[]> {
  if (layout.hub === undefined) throw new Error(`lab ${layout.name} has no hub`);
  const dumps = await Promise.all([
    dump(hubRemotes(layout.hub, 'icnb'), 'OVN_IC_Northbound', 'hub/icnb'),
    dump(hubRemotes(layout.hub, 'icsb'), 'OVN_IC_Southbound', 'hub/icsb'),
  ]);
  return dumps.flat();
}

/** Rows created by the interconnect's agent or hub. */
export function isInterconnects({ columns }: DumpedRow): boolean {
  return /^(interconnect|hub)\//.test(mapOf(columns['external_ids']).get(externalId.owner) ?? '');
}

/**
 * Leftover rows of a cluster that has left, one line per row: in its own databases all rows of the interconnect, in the hub's all
 * rows that name it or belong to its zone, in the other members' all rows owned in its name.
 */
export async function leftovers(
  lab: LabHandle,
  gone: ClusterLayout,
  members: readonly ClusterLayout[],
): Promise<string[]> {
  const own = (await dumpCluster(gone)).filter((row) => isInterconnects(row) || isTrace(row));
  const hub = await dumpHub(lab);
  const zone = hub.find(({ table, columns }) => table === 'Availability_Zone' && columns['name'] === gone.name);
  const words = [`"${gone.name}"`, `-${gone.name}"`, `/${gone.name}"`, `${lab.layout.name}-${gone.name}-`];
  if (zone !== undefined) words.push(`"${String((zone.columns['_uuid'] as string[])[1])}"`);
  const names = (row: DumpedRow): boolean => words.some((word) => JSON.stringify(row.columns).includes(word));
  const others = await Promise.all(members.filter(({ name }) => name !== gone.name).map(dumpCluster));
  const found = [...own, ...hub.filter(names), ...others.flat().filter((row) => isInterconnects(row) && names(row))];
  return [...found.map(lineOf), ...(await settingsLeft(lab, gone))];
}

/** Rows and entries without an owner that exist only because of the interconnect. */
function isTrace({ database, table, columns }: DumpedRow): boolean {
  if (table === 'NB_Global') return columns['name'] !== '' || mapOf(columns['options']).has('bfd-min-rx');
  if (table === 'Chassis') return mapOf(columns['other_config']).get('is-remote') === 'true';
  if (table === 'Logical_Switch') return mapOf(columns['other_config']).has('interconn-ts');
  return database.endsWith('/sb') && table === 'FDB';
}

async function settingsLeft(lab: LabHandle, { name, nodes }: ClusterLayout): Promise<string[]> {
  const all = await Promise.all(
    nodes.map(async (node) => {
      const ids = await lab.vsctl(name, node.name, ['get', 'Open_vSwitch', '.', 'external_ids']);
      const tunnels = await lab.vsctl(name, node.name, ['--bare', '--columns=name,options', 'list', 'Interface']);
      const isForeign = (line: string): boolean =>
        line.includes('remote_ip=') && !nodes.some(({ address }) => line.includes(`remote_ip=${address}`));
      return [
        ...(/ovn-is-interconn="?true/.test(ids) ? [`${name}/${node.name} ovn-is-interconn`] : []),
        ...tunnels
          .split('\n')
          .filter(isForeign)
          .map((line) => `${name}/${node.name} Interface ${line}`),
      ];
    }),
  );
  return all.flat();
}

/**
 * The interconnect's rows as texts that change only with the meaning of the rows: without uuids, and without values that OVN
 * reports in them.
 */
export function meaningOf(rows: readonly DumpedRow[]): string[] {
  return rows.filter(isInterconnects).map(lineOf).toSorted();
}

function lineOf({ database, table, columns }: DumpedRow): string {
  const kept = Object.entries(columns).filter(([name]) => name !== '_uuid' && !volatileColumns.has(name));
  const values = kept.map(([name, value]) => `${name}=${JSON.stringify(withoutUuids(value))}`);
  return `${database} ${table} ${values.join(' ')}`;
}

function withoutUuids(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  if (value[0] === 'uuid') return 'a row';
  return value.map(withoutUuids);
}

function mapOf(value: unknown): ReadonlyMap<string, string> {
  if (!Array.isArray(value) || value[0] !== 'map') return new Map();
  return new Map(value[1] as [string, string][]);
}
