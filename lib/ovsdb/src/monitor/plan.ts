import type { Condition, OvsdbOptions } from '../client-types.ts';
import { sameValue } from '../notation/compare.ts';
import { type Decode, decoderOf, defaultOf } from '../notation/decode.ts';
import type { DatabaseSchema, TableSchema } from '../schema/schema.ts';
import { encodeWhere } from '../transact/operations.ts';
import type { Row, Value } from '../value.ts';

export interface MonitoredColumn {
  readonly name: string;
  readonly decode: Decode;
  readonly byDefault: Value;
  /** Whether a `modify` contains this column's difference instead of its new value. */
  readonly tellsDifference: boolean;
}

export interface MonitoredTable {
  readonly name: string;
  readonly columns: readonly MonitoredColumn[];
  /** In the form of the wire; undefined for all rows. */
  readonly where: readonly unknown[] | undefined;
}

/** The tables and columns asked for that this server's schema has. */
export type MonitorPlan = ReadonlyMap<string, MonitoredTable>;

export function planMonitor(
  schema: DatabaseSchema,
  asked: OvsdbOptions['monitor'],
  where: OvsdbOptions['where'] = {},
): MonitorPlan {
  const plan = new Map<string, MonitoredTable>();
  for (const [name, columns] of Object.entries(asked)) {
    const table = schema.tables[name];
    if (table === undefined) continue;
    plan.set(name, {
      name,
      columns: planColumns(table, columns ?? Object.keys(table.columns)),
      where: where[name] && planWhere(table, where[name]),
    });
  }
  return plan;
}

/** `false` is a condition that no row satisfies. */
function planWhere(table: TableSchema, where: readonly Condition[]): readonly unknown[] {
  const known = where.filter(([column]) => column === '_uuid' || table.columns[column] !== undefined);
  return known.length === 0 ? [false] : encodeWhere(known, table);
}

function planColumns(table: TableSchema, names: readonly string[]): readonly MonitoredColumn[] {
  return [...new Set(names)].flatMap((name) => {
    const column = table.columns[name];
    if (column === undefined) return [];
    return [{ name, decode: decoderOf(column), byDefault: defaultOf(column), tellsDifference: column.max > 1 }];
  });
}

/** <monitor-requests>; `where` is for `monitor_cond` and later methods. Columns are always named: left out, they would include `_version`. */
export function monitorRequests(plan: MonitorPlan, isConditional: boolean): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...plan.values()].map(({ name, columns, where }) => {
      const condition = isConditional && where !== undefined ? { where } : {};
      return [name, [{ columns: columns.map((column) => column.name), ...condition }]];
    }),
  );
}

/** A whole row; columns left out of `wire` have their default. */
export function decodeRow(table: MonitoredTable, uuid: string, wire: Readonly<Record<string, unknown>>): Row {
  const row: Record<string, Value> & { _uuid: string } = { _uuid: uuid };
  let last: Value = null;
  for (const { name, decode, byDefault } of table.columns) {
    const received = wire[name];
    const value = received === undefined ? byDefault : decode(received);
    // Columns side by side often hold the same set (a port's addresses and its port security): one is kept.
    last = row[name] = Array.isArray(value) && sameValue(value, last) ? last : value;
  }
  return row;
}
