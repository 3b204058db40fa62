/**
 * What monitors tell → changes of rows, worked out against the cache but not yet put in, so that a message that
 * cannot be understood leaves the cache as it was. Both readers throw OvsdbProtocolError.
 */
import type { MirroredDatabase } from '../cache/cache.ts';
import type { Change } from '../client-types.ts';
import { OvsdbProtocolError } from '../errors.ts';
import { sameRow } from '../notation/compare.ts';
import type { Row, Value } from '../value.ts';
import { applyDifference } from './difference.ts';
import { decodeRow, type MonitoredTable, type MonitorPlan } from './plan.ts';

type Json = Readonly<Record<string, unknown>>;

/** Turns one row's update into the row after it; undefined is a deletion. */
export type ReadRow = (table: MonitoredTable, uuid: string, update: Json, before: Row | undefined) => Row | undefined;

/** <table-updates> (RFC 7047 §4.1.6): new rows are complete. */
export const readUpdate: ReadRow = (table, uuid, update) => {
  const after = update['new'];
  return after === undefined ? undefined : decodeRow(table, uuid, object(after));
};

/** <table-updates2> (ovsdb-server(7) §4.1.14). */
export const readUpdate2: ReadRow = (table, uuid, update, before) => {
  const whole = update['initial'] ?? update['insert'];
  if (whole !== undefined) return decodeRow(table, uuid, object(whole));
  if ('delete' in update) return undefined;
  if (before === undefined) throw new OvsdbProtocolError(`update of an unknown row ${uuid} of ${table.name}`);
  return modify(table, before, object(update['modify']));
};

function modify(table: MonitoredTable, before: Row, differences: Json): Row {
  const after: Record<string, Value> & { _uuid: string } = { ...before };
  for (const { name, decode, tellsDifference } of table.columns) {
    const wire = differences[name];
    if (wire !== undefined) after[name] = tellsDifference ? applyDifference(before[name], decode(wire)) : decode(wire);
  }
  return after;
}

/** The changes that an update makes to the cache. */
export function changesOf(
  cache: MirroredDatabase,
  plan: MonitorPlan,
  updates: unknown,
  read: ReadRow,
): readonly Change[] {
  const changes: Change[] = [];
  for (const [table, uuid, update] of eachRow(plan, updates)) {
    const before = cache.row(table.name, uuid);
    const after = read(table, uuid, update, before);
    if (before !== undefined || after !== undefined) changes.push({ table: table.name, uuid, before, after });
  }
  return changes;
}

/** The changes that make the cache equal to a whole dump. */
export function changesOfDump(
  cache: MirroredDatabase,
  plan: MonitorPlan,
  dump: unknown,
  read: ReadRow,
): readonly Change[] {
  const changes: Change[] = [];
  const dumped = new Map<string, Set<string>>();
  for (const [table, uuid, update] of eachRow(plan, dump)) {
    const before = cache.row(table.name, uuid);
    const after = read(table, uuid, update, undefined);
    if (before === undefined || after === undefined || !sameRow(before, after))
      changes.push({ table: table.name, uuid, before, after });
    let uuids = dumped.get(table.name);
    if (uuids === undefined) dumped.set(table.name, (uuids = new Set()));
    uuids.add(uuid);
  }
  return [...changes, ...goneFrom(cache, dumped)];
}

function* goneFrom(cache: MirroredDatabase, dumped: ReadonlyMap<string, ReadonlySet<string>>): Generator<Change, void> {
  for (const table of cache.names()) {
    for (const [uuid, before] of cache.table(table).rows) {
      if (dumped.get(table)?.has(uuid) !== true) yield { table, uuid, before, after: undefined };
    }
  }
}

function* eachRow(plan: MonitorPlan, updates: unknown): Generator<[MonitoredTable, string, Json], void> {
  for (const [name, rows] of Object.entries(object(updates))) {
    const table = plan.get(name);
    if (table === undefined) throw new OvsdbProtocolError(`update of table ${name}, which is not monitored`);
    for (const [uuid, update] of Object.entries(object(rows))) yield [table, uuid, object(update)];
  }
}

function object(value: unknown): Json {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new OvsdbProtocolError(`expected an object in an update, got ${JSON.stringify(value)}`);
  return value as Json;
}
