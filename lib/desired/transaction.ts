/**
 * Turns the plans of owners into one OVSDB transaction.
 *
 * In: the dirty owners with their plans, columns to clear, and the existing rows. Out: the operations, and the owners
 * that wait for a row or may not have it. No I/O; called by the target. A row that matches yields no operation, so
 * owners whose rows match the database yield an empty transaction. An owner's rows and contributions are written
 * together or not at all, except for entries that another owner has.
 */
import type { Atom, NamedUuid, Row, WriteValue } from 'ovsdb-client';
import { externalId } from '../api/names.ts';
import { admit } from './admission.ts';
import { hasMember, isEqual, isMap, isNamed, mapDifference } from './compare.ts';
import { type ColumnId, columnOf, rowId } from './contributions.ts';
import { Draft, isInserted, type Place } from './draft.ts';
import { clear, contribute, withdraw, type MembershipContext } from './membership.ts';
import { Places, uuidOf } from './places.ts';
import type { Problem } from './problem.ts';
import type { Desired, DesiredRow } from './row.ts';
import type { Batch, BuiltTransaction, Database } from './batch.ts';

export function buildTransaction(database: Database, batch: Batch): BuiltTransaction {
  const draft = new Draft();
  const places = new Places(database, draft, batch.wantedBy);
  const { ready, problems, waiting } = admit(database, batch, places);
  const isPending = (owner: string): boolean => !ready.has(owner) && batch.isPending(owner);
  const { bidsFor } = batch;
  const context = { database, batch: { ...batch, isPending }, draft, places, waiting, ready, bidsFor };
  const writer = new RowWriter(context);
  const written = new Set<string>();
  const losses = new Map<string, Problem>();
  for (const [owner, { desired, applied }] of ready) {
    const before = draft.writes;
    for (const row of desired?.rows ?? []) writer.write(owner, row, applied);
    const loss = contribute(context, owner, desired?.contributions ?? []);
    if (loss !== undefined) losses.set(owner, loss);
    if (draft.writes > before) written.add(owner);
  }
  for (const [owner, { desired }] of ready) if (writer.prune(owner, desired)) written.add(owner);
  for (const owner of withdraw(context)) written.add(owner);
  const deferred = new Map<string, Set<ColumnId>>();
  for (const [id, unheld] of batch.unheld)
    for (const owner of clear(context, columnOf(id), unheld))
      deferred.set(owner, (deferred.get(owner) ?? new Set<ColumnId>()).add(id));
  return { draft, problems, losses, written, waiting, deferred };
}

class RowWriter {
  readonly #context: MembershipContext;
  readonly #draft: Draft;
  /** Rows of the former plan that was asked for last, by their ids: the rows of an owner are written one after the other. */
  #former: { readonly plan: Desired; readonly rows: ReadonlyMap<string, DesiredRow> } | undefined;

  constructor(context: MembershipContext) {
    this.#context = context;
    this.#draft = context.draft;
  }

  write(owner: string, wanted: DesiredRow, applied: Desired | undefined): void {
    const place = this.#context.places.of(wanted);
    if (place === undefined) return;
    if (isInserted(place)) {
      this.#draft.writes += 1;
      place.row = { ...this.#resolved(wanted.initial ?? {}), ...this.#columnsOf(owner, wanted) };
    } else this.#align(place, owner, { wanted, applied });
    if (wanted.parent !== undefined) this.#hold(place, wanted, wanted.parent);
  }

  /** Deletes rows that the owner has but no longer wants. A row that another owner wants now passes to that owner. */
  prune(owner: string, desired: Desired | undefined): boolean {
    const { database, batch, places } = this.#context;
    const owned = database.ownedBy(owner);
    if (owned.length === 0) return false;
    const kept = new Set<Place | undefined>();
    for (const row of desired?.rows ?? []) kept.add(places.of(row));
    const before = this.#draft.writes;
    for (const { table, row } of owned) {
      if (kept.has(row)) continue;
      const key = database.keyOf(table, row);
      const next = key === undefined ? undefined : batch.wantedBy(table, key);
      const isTakenOver = next !== undefined && next !== owner && key !== undefined;
      if (isTakenOver && database.find(table, key, next)?._uuid === row._uuid) continue;
      this.#draft.delete(table, row, {
        isRoot: database.isRoot(table),
        parents: database.parentsOf(table),
        references: database.referencesOf(table),
      });
    }
    return this.#draft.writes > before;
  }

  #resolved(columns: DesiredRow['columns']): Record<string, WriteValue> {
    const resolved: Record<string, WriteValue> = {};
    for (const column in columns) resolved[column] = this.#context.places.resolved(columns[column] ?? null);
    return resolved;
  }

  #columnsOf(owner: string, wanted: DesiredRow): Record<string, WriteValue> {
    const { database } = this.#context;
    const columns = this.#resolved(wanted.columns);
    const keyColumn = database.keyColumn(wanted.table);
    if (keyColumn !== undefined) columns[keyColumn] ??= wanted.key;
    if (database.hasColumn(wanted.table, 'external_ids')) {
      const given = columns['external_ids'];
      const ids: Record<string, Atom | NamedUuid> = { ...(isMap(given) ? given : {}), [externalId.owner]: owner };
      if (keyColumn === undefined) ids[externalId.key] = wanted.key;
      columns['external_ids'] = ids;
    }
    return columns;
  }

  #align(
    row: Row,
    owner: string,
    { wanted, applied }: { readonly wanted: DesiredRow; readonly applied: Desired | undefined },
  ): void {
    const { table } = wanted;
    const before = this.#draft.writes;
    const columns = this.#columnsOf(owner, wanted);
    for (const column in columns) {
      const [actual, value] = [row[column], columns[column] ?? null];
      const gone = isMap(actual) && isMap(value) ? this.#goneEntries(row, column, { wanted, applied }) : undefined;
      if (gone !== undefined && isMap(actual) && isMap(value)) {
        const { insert, remove } = mapDifference(actual, value, gone);
        for (const entry of remove) this.#draft.removeEntry(table, row, column, entry);
        for (const entry of Object.entries(insert)) this.#draft.putEntry(table, row, column, entry);
      } else if (!isEqual(actual, value)) this.#draft.write(table, row, column, value);
    }
    if (this.#draft.writes > before) Object.assign(this.#draft.change(table, row), { owner, key: wanted.key });
  }

  /** Entries to remove unless they are wanted; undefined if the column is written as a whole, as in an adopted row. */
  #goneEntries(
    row: Row,
    column: string,
    { wanted, applied }: { readonly wanted: DesiredRow; readonly applied: Desired | undefined },
  ): readonly string[] | undefined {
    const { database } = this.#context;
    const before = Object.keys(this.#wantedBefore(wanted, applied)?.columns[column] ?? {});
    if (wanted.shared?.includes(column) === true) return before;
    const isOwn = database.ownEntries(wanted.table, column);
    const there = row[column];
    if (isOwn === undefined || !isMap(there) || database.ownerOf(wanted.table, row) === undefined) return undefined;
    const own = Object.entries(there).flatMap(([entry, value]) =>
      isNamed(value) || !isOwn(entry, value) ? [] : [entry],
    );
    return [...before, ...own];
  }

  /** The same row in the owner's former plan, which may have many thousands. */
  #wantedBefore({ table, key }: DesiredRow, applied: Desired | undefined): DesiredRow | undefined {
    if (applied === undefined) return undefined;
    if (this.#former?.plan !== applied)
      this.#former = { plan: applied, rows: new Map(applied.rows.map((row) => [rowId(row.table, row.key), row])) };
    return this.#former.rows.get(rowId(table, key));
  }

  /** Puts the row under its parent, and removes it from a former parent. */
  #hold(place: Place, { table, key }: DesiredRow, parent: NonNullable<DesiredRow['parent']>): void {
    const { database, places } = this.#context;
    const holder = places.resolve(parent);
    if (holder === undefined) return;
    const uuid = uuidOf(place);
    if (!isInserted(holder) && !isNamed(uuid) && hasMember(holder[parent.column], uuid)) return;
    this.#draft.hold({ child: { table, key, uuid }, parent, holder });
    if (!isNamed(uuid))
      this.#draft.orphan(database.parentsOf(table), uuid, isInserted(holder) ? undefined : holder._uuid);
  }
}
