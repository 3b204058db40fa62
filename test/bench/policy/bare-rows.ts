/** The rows of a northbound database as the operations of one transaction that writes them all. */
import type { Operation, OvsdbClient, WriteValue } from 'ovsdb-client';

const nameOf = (uuid: string): string => `u${uuid.replaceAll('-', '')}`;
const isUuid = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** References become those to rows of the same transaction. */
function written(value: unknown, known: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return isUuid(value) && known.has(value) ? { named: nameOf(value) } : value;
  return Array.isArray(value) ? value.map((one) => written(one, known)) : value;
}

export function insertsOf(nb: OvsdbClient, tables: readonly string[]): readonly Operation[] {
  const all = tables.flatMap((table) => [...nb.cache.table(table).rows.values()].map((row) => ({ table, row })));
  const known = new Set(all.map(({ row }) => row._uuid));
  return all.map(({ table, row }): Operation => {
    const columns = Object.entries(row).filter(([column, value]) => !column.startsWith('_') && !isEmpty(value));
    const values = Object.fromEntries(columns.map(([column, value]) => [column, written(value, known)]));
    return { op: 'insert', table, uuidName: nameOf(row._uuid), row: values as Readonly<Record<string, WriteValue>> };
  });
}

/** Empties the tables. */
export async function wipe(nb: OvsdbClient, tables: readonly string[]): Promise<void> {
  await nb.transact(tables.map((table) => ({ op: 'delete', table, where: [] })));
}
