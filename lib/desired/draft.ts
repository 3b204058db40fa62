/**
 * The writes of a transaction under construction, merged by row and column: the additions of several owners to one
 * column become one mutation. In: single writes of the builder. Out: the operations, or the writes for a report.
 */
import type { Atom, Mutation, NamedUuid, Operation, Row, Value, WriteValue } from 'ovsdb-client';
import { atomsOf, isMap, members, type ResolvedMap } from './compare.ts';
import { rowId } from './contributions.ts';
import { entryOf } from './entry-of.ts';
import type { DesiredRow } from './row.ts';
import type { ParentColumn } from './schema-facts.ts';

export interface Additions {
  /** column → members, or parents' children */
  readonly members: Map<string, { readonly insert: Set<Atom | NamedUuid>; readonly remove: Set<Atom> }>;
  /** column → entries */
  readonly entries: Map<string, { readonly insert: Map<string, Atom | NamedUuid>; readonly remove: Set<string> }>;
}

/** A row that the transaction inserts. */
export interface Inserted extends Additions {
  readonly owner: string;
  readonly wanted: DesiredRow;
  readonly self: NamedUuid;
  row: Record<string, WriteValue>;
}

/** An existing row. */
export interface Changed extends Additions {
  readonly table: string;
  readonly row: Row;
  /** The owner that wants this row, if the row's own columns are written. */
  owner: string | undefined;
  key: string | undefined;
  readonly columns: Map<string, WriteValue>;
}

export type Place = Inserted | Row;

export function isInserted(place: Place): place is Inserted {
  return 'wanted' in place && 'self' in place;
}

export interface Held {
  readonly child: { readonly table: string; readonly key: string; readonly uuid: string | NamedUuid };
  readonly parent: NonNullable<DesiredRow['parent']>;
  readonly holder: Place;
}

/** Properties of a table that decide how its rows are deleted. */
export interface DeletionFacts {
  readonly isRoot: boolean;
  readonly parents: readonly ParentColumn[];
  /** Columns that refer to root rows. */
  readonly references: readonly string[];
}

export class Draft {
  readonly inserted = new Map<string, Inserted>();
  readonly changed = new Map<string, Changed>();
  readonly deleted: { readonly table: string; readonly row: Row }[] = [];
  readonly held: Held[] = [];
  readonly #removals: Operation[] = [];
  readonly #deletedRoots = new Set<string>();
  readonly #referring: { readonly table: string; readonly row: Row; readonly references: readonly string[] }[] = [];
  #named = 0;
  /** Counts every write put into the transaction. */
  writes = 0;

  insert(owner: string, wanted: DesiredRow): Inserted {
    const self = { named: `row${this.#named++}` };
    const inserted = { owner, wanted, self, row: {}, members: new Map(), entries: new Map() };
    this.inserted.set(rowId(wanted.table, wanted.key), inserted);
    return inserted;
  }

  /** Removes a row whose owner has to wait. */
  forget(wanted: DesiredRow): void {
    this.inserted.delete(rowId(wanted.table, wanted.key));
  }

  change(table: string, row: Row): Changed {
    return entryOf(this.changed, row._uuid, () => ({
      table,
      row,
      owner: undefined,
      key: undefined,
      columns: new Map<string, WriteValue>(),
      members: new Map(),
      entries: new Map(),
    }));
  }

  /** Replaces a whole column. */
  write(table: string, place: Place, column: string, value: WriteValue): void {
    this.writes += 1;
    if (isInserted(place)) place.row[column] = value;
    else this.change(table, place).columns.set(column, value);
  }

  addMember(table: string, place: Place, column: string, member: Atom | NamedUuid): void {
    this.writes += 1;
    this.#membersOf(table, place, column).insert.add(member);
  }

  removeMember(table: string, row: Row, column: string, member: Atom): void {
    this.writes += 1;
    this.#membersOf(table, row, column).remove.add(member);
  }

  putEntry(table: string, place: Place, column: string, [entry, value]: readonly [string, Atom | NamedUuid]): void {
    this.writes += 1;
    const entries = this.#entriesOf(table, place, column);
    entries.insert.set(entry, value);
    // OVSDB's `insert` does not change an existing entry.
    if (!isInserted(place)) entries.remove.add(entry);
  }

  removeEntry(table: string, row: Row, column: string, entry: string): void {
    this.writes += 1;
    this.#entriesOf(table, row, column).remove.add(entry);
  }

  hold(held: Held): void {
    this.held.push(held);
    this.addMember(held.parent.table, held.holder, held.parent.column, held.child.uuid);
  }

  /** Removes references to a non-root row: OVSDB deletes it when no strong reference is left. */
  orphan(parents: readonly ParentColumn[], uuid: string, except?: string): void {
    for (const { table, column } of parents) {
      const where: [string, '!=' | 'includes', WriteValue][] = [[column, 'includes', [uuid]]];
      if (except !== undefined) where.push(['_uuid', '!=', except]);
      this.#removals.push({ op: 'mutate', table, where, mutations: [[column, 'delete', [uuid]]] });
    }
  }

  delete(table: string, row: Row, { isRoot, parents, references }: DeletionFacts): void {
    this.writes += 1;
    this.deleted.push({ table, row });
    if (isRoot) this.#deletedRoots.add(row._uuid);
    else if (references.length > 0) this.#referring.push({ table, row, references });
    if (isRoot) this.#removals.push({ op: 'delete', table, where: [['_uuid', '==', row._uuid]] });
    else this.orphan(parents, row._uuid);
  }

  /** Removals come first, so that a name or index that they free can be used in the same transaction. */
  operations(): readonly Operation[] {
    return this.#ownedOperations().map(({ operation }) => operation);
  }

  /** The owner of the row that an operation of `operations()` writes, by its index; undefined if it may be of several owners. */
  ownerOf(index: number): string | undefined {
    return this.#ownedOperations()[index]?.owner;
  }

  #ownedOperations(): readonly { readonly operation: Operation; readonly owner: string | undefined }[] {
    const operations: { operation: Operation; owner: string | undefined }[] = [];
    for (const operation of [...this.#removals, ...this.#releases()]) operations.push({ operation, owner: undefined });
    for (const inserted of this.inserted.values()) {
      const { owner, self, wanted } = inserted;
      const row = wholeRow(inserted);
      operations.push({ operation: { op: 'insert', table: wanted.table, row, uuidName: self.named }, owner });
    }
    for (const { table, row, columns, owner } of this.changed.values()) {
      if (columns.size === 0) continue;
      const where = [['_uuid', '==', row._uuid] as const];
      operations.push({ operation: { op: 'update', table, where, row: Object.fromEntries(columns) }, owner });
    }
    for (const changed of this.changed.values()) {
      const mutations = mutationsOf(changed);
      const where = [['_uuid', '==', changed.row._uuid] as const];
      if (mutations.length === 0) continue;
      operations.push({ operation: { op: 'mutate', table: changed.table, where, mutations }, owner: undefined });
    }
    return operations;
  }

  /** The server counts references before it collects unreferenced rows: deletion of a root row that they refer to would be refused. */
  #releases(): readonly Operation[] {
    if (this.#deletedRoots.size === 0) return [];
    return this.#referring.flatMap(({ table, row, references }): readonly Operation[] => {
      const held = references.filter((column) => this.#refersToDeleted(row[column]));
      if (held.length === 0) return [];
      const empty = Object.fromEntries(held.map((column) => [column, isMap(row[column]) ? {} : []]));
      return [{ op: 'update', table, where: [['_uuid', '==', row._uuid]], row: empty }];
    });
  }

  #refersToDeleted(value: Value | undefined): boolean {
    const atoms = isMap(value) ? Object.values(value) : atomsOf(value);
    return atoms.some((atom) => typeof atom === 'string' && this.#deletedRoots.has(atom));
  }

  #additions(table: string, place: Place): Additions {
    return isInserted(place) ? place : this.change(table, place);
  }

  #membersOf(
    table: string,
    place: Place,
    column: string,
  ): { readonly insert: Set<Atom | NamedUuid>; readonly remove: Set<Atom> } {
    return entryOf(this.#additions(table, place).members, column, () => ({
      insert: new Set<Atom | NamedUuid>(),
      remove: new Set<Atom>(),
    }));
  }

  #entriesOf(
    table: string,
    place: Place,
    column: string,
  ): { readonly insert: Map<string, Atom | NamedUuid>; readonly remove: Set<string> } {
    return entryOf(this.#additions(table, place).entries, column, () => ({
      insert: new Map<string, Atom | NamedUuid>(),
      remove: new Set<string>(),
    }));
  }
}

/** The content of an inserted row: its own columns and the additions of the same transaction. */
export function wholeRow({ row, members: added, entries }: Inserted): Record<string, WriteValue> {
  const whole = { ...row };
  for (const [column, { insert }] of added)
    whole[column] = [...new Set([...members(whole[column] as Atom | NamedUuid | readonly Atom[] | null), ...insert])];
  for (const [column, { insert }] of entries) {
    const given: ResolvedMap = isMap(whole[column]) ? whole[column] : {};
    whole[column] = { ...given, ...Object.fromEntries(insert) };
  }
  return whole;
}

function mutationsOf({ row, members: added, entries }: Changed): readonly Mutation[] {
  const mutations: Mutation[] = [];
  for (const [column, { insert, remove }] of added) {
    if (remove.size > 0) mutations.push([column, 'delete', [...remove]]);
    if (insert.size > 0) mutations.push([column, 'insert', [...insert]]);
  }
  for (const [column, { insert, remove }] of entries) {
    const there = isMap(row[column]) ? row[column] : {};
    const gone = [...remove].filter((entry) => Object.hasOwn(there, entry));
    if (gone.length > 0) mutations.push([column, 'delete', gone]);
    if (insert.size > 0) mutations.push([column, 'insert', Object.fromEntries(insert)]);
  }
  return mutations;
}
