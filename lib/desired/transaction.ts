/**
 * Turns what owners want into one OVSDB transaction.
 *
 * In: the dirty owners with their desired rows, the dirty contributed columns, and the rows there are. Out: the
 * operations, and who has to wait for which row or may not have it. No I/O; called by the target. A row that is
 * as wanted yields no operation, so building for owners that agree with the database yields an empty transaction.
 */
import type { Atom, Mutation, NamedUuid, Operation, Row, WriteValue } from 'ovsdb-client';
import { externalId } from '../api/names.ts';
import { isEqual, isMap, isNamed, mapDifference, members, type ResolvedMap } from './compare.ts';
import type { ContributedColumn } from './contributions.ts';
import { entryOf } from './entry-of.ts';
import type { Problem } from './problem.ts';
import type { Desired, DesiredRow, Ref, Wanted } from './row.ts';
import type { OwnedRow } from './row-index.ts';
import type { SchemaFacts } from './schema-facts.ts';

export interface Database extends SchemaFacts {
  find(table: string, key: string, owner?: string): Row | undefined;
  ownedBy(owner: string): readonly OwnedRow[];
  ownerOf(table: string, row: Row): string | undefined;
  keyOf(table: string, row: Row): string | undefined;
  /** `name` where the table's key is that column; otherwise the key stands in external_ids. */
  keyColumn(table: string): string | undefined;
}

export interface OwnerBatch {
  /** What the owner wants now; undefined: nothing. */
  readonly desired: Desired | undefined;
  /** What it wanted when it was last applied: tells which entries of shared maps to take back. */
  readonly applied: Desired | undefined;
}

export interface Batch {
  readonly owners: ReadonlyMap<string, OwnerBatch>;
  readonly columns: readonly ContributedColumn[];
  /** Which owner wants a row; the first that asked, where several do. */
  readonly wantedBy: (table: string, key: string) => string | undefined;
  /** Owners of this target; rows of others are never written. */
  readonly isOurs: (owner: string) => boolean;
  /** Whether the column holds nothing but contributions, and all contributors have planned. */
  readonly isCollected: (column: ContributedColumn) => boolean;
}

export interface BuiltTransaction {
  readonly operations: readonly Operation[];
  readonly problems: ReadonlyMap<string, Problem>;
  /** Owners whose own rows are written. */
  readonly written: ReadonlySet<string>;
  /** Rows waited for: `rowId` → owners and column ids that need it. */
  readonly waiting: ReadonlyMap<string, ReadonlySet<string>>;
}

export function rowId(table: string, key: string): string {
  return `${table}\0${key}`;
}

export function buildTransaction(database: Database, batch: Batch): BuiltTransaction {
  return new TransactionBuilder(database, batch).build();
}

class TransactionBuilder {
  readonly #db: Database;
  readonly #batch: Batch;
  /** Rows this transaction inserts: rowId → name and columns. */
  readonly #inserts = new Map<string, { table: string; uuidName: string; row: Record<string, WriteValue> }>();
  readonly #updates = new Map<string, RowWrite>();
  readonly #mutations = new Map<string, { table: string; mutations: Mutation[] }>();
  readonly #removals: Operation[] = [];
  readonly #problems = new Map<string, Problem>();
  readonly #waiting = new Map<string, Set<string>>();
  /** Counts every write put into the transaction. */
  #writes = 0;

  constructor(database: Database, batch: Batch) {
    this.#db = database;
    this.#batch = batch;
  }

  build(): BuiltTransaction {
    const ready = this.#admit();
    const written = new Set<string>();
    const note = (owner: string, write: () => void): void => {
      const before = this.#writes;
      write();
      if (this.#writes > before) written.add(owner);
    };
    for (const [owner, { desired, applied }] of ready) {
      for (const row of desired?.rows ?? []) note(owner, () => this.#write(owner, row, applied));
    }
    for (const [owner, { desired }] of ready) note(owner, () => this.#prune(owner, desired));
    for (const column of this.#batch.columns) this.#contribute(column);
    return { operations: this.#operations(), problems: this.#problems, written, waiting: this.#waiting };
  }

  /** Leaves out owners that may not have a row or that refer to one that is nowhere, and whoever needs theirs. */
  #admit(): ReadonlyMap<string, OwnerBatch> {
    const ready = new Map<string, OwnerBatch>();
    for (const [owner, wanted] of this.#batch.owners) {
      const problem = this.#refusal(owner, wanted.desired);
      if (problem === undefined) ready.set(owner, wanted);
      else this.#problems.set(owner, problem);
    }
    for (const [owner, { desired }] of ready) for (const row of desired?.rows ?? []) this.#announce(owner, row);
    for (let settled = false; !settled;) {
      settled = true;
      for (const [owner, { desired }] of ready) {
        const missing = this.#missing(desired);
        if (missing === undefined) continue;
        settled = false;
        ready.delete(owner);
        for (const row of desired?.rows ?? []) this.#inserts.delete(rowId(row.table, row.key));
        this.#wait(missing.table, missing.key, owner);
        const message = `${missing.table} "${missing.key}", which its rows refer to, is not in the database yet`;
        this.#problems.set(owner, { code: 'WaitingForRow', message });
      }
    }
    return ready;
  }

  #refusal(owner: string, desired: Desired | undefined): Problem | undefined {
    for (const { table, key } of desired?.rows ?? []) {
      const first = this.#batch.wantedBy(table, key);
      if (first !== undefined && first !== owner) {
        return {
          code: 'RowWantedTwice',
          message: `${table} "${key}" is already wanted by ${first}; one of the two must have another name`,
        };
      }
      const row = this.#db.find(table, key, owner);
      const holder = row === undefined ? undefined : this.#db.ownerOf(table, row);
      if (holder !== undefined && !this.#batch.isOurs(holder)) {
        return { code: 'RowOfAnother', message: `${table} "${key}" belongs to ${holder}; it is left as it is` };
      }
    }
    return undefined;
  }

  #announce(owner: string, { table, key }: DesiredRow): void {
    if (this.#db.find(table, key, owner) !== undefined) return;
    this.#inserts.set(rowId(table, key), { table, uuidName: `row${this.#inserts.size}`, row: {} });
  }

  #missing(desired: Desired | undefined): Ref['ref'] | undefined {
    for (const row of desired?.rows ?? []) {
      if (row.parent !== undefined && this.#resolve(row.parent) === undefined) return row.parent;
      for (const wanted of Object.values(row.columns)) {
        for (const ref of refsOf(wanted)) if (this.#resolve(ref) === undefined) return ref;
      }
    }
    return undefined;
  }

  #resolve({ table, key }: { table: string; key: string }): string | NamedUuid | undefined {
    const inserted = this.#inserts.get(rowId(table, key));
    return inserted === undefined ? this.#db.find(table, key)?._uuid : { named: inserted.uuidName };
  }

  #write(owner: string, wanted: DesiredRow, applied: Desired | undefined): void {
    const columns = this.#columnsOf(owner, wanted);
    const inserted = this.#inserts.get(rowId(wanted.table, wanted.key));
    const row = this.#db.find(wanted.table, wanted.key, owner);
    if (inserted !== undefined) {
      this.#writes += 1;
      Object.assign(inserted.row, columns);
    }
    if (inserted === undefined && row !== undefined) this.#align(row, wanted, columns, applied);
    if (wanted.parent !== undefined) this.#adopt(wanted, inserted === undefined ? row : undefined);
  }

  #columnsOf(owner: string, wanted: DesiredRow): Record<string, WriteValue> {
    const columns: Record<string, WriteValue> = {};
    for (const [column, value] of Object.entries(wanted.columns)) columns[column] = this.#resolved(value);
    const keyColumn = this.#db.keyColumn(wanted.table);
    if (keyColumn !== undefined) columns[keyColumn] ??= wanted.key;
    if (this.#db.hasColumn(wanted.table, 'external_ids')) {
      const given = columns['external_ids'];
      const ids: Record<string, Atom | NamedUuid> = { ...(isMap(given) ? given : {}), [externalId.owner]: owner };
      if (keyColumn === undefined) ids[externalId.key] = wanted.key;
      columns['external_ids'] = ids;
    }
    return columns;
  }

  #resolved(value: Wanted): WriteValue {
    const one = (atom: Atom | Ref): Atom | NamedUuid => (isRef(atom) ? (this.#resolve(atom.ref) ?? '') : atom);
    if (value === null) return null;
    if (isRef(value)) return one(value);
    if (Array.isArray(value)) return (value as readonly (Atom | Ref)[]).map(one);
    if (typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value as Record<string, Atom | Ref>).map(([key, atom]) => [key, one(atom)]),
    );
  }

  #align(row: Row, wanted: DesiredRow, columns: Record<string, WriteValue>, applied: Desired | undefined): void {
    for (const [column, value] of Object.entries(columns)) {
      const actual = row[column];
      if (wanted.shared?.includes(column) && isMap(actual) && isMap(value)) {
        const before = applied?.rows.find(({ table, key }) => table === wanted.table && key === wanted.key)?.columns[
          column
        ];
        const gone = isMap(before as WriteValue) ? Object.keys(before as ResolvedMap) : [];
        this.#mutateMap(wanted.table, row, column, mapDifference(actual, value, gone));
      } else if (!isEqual(actual, value)) {
        this.#update(wanted.table, row._uuid, column, value);
      }
    }
  }

  /** Puts the row under its parent, and takes it from another that held it. */
  #adopt(wanted: DesiredRow, row: Row | undefined): void {
    const parent = wanted.parent;
    if (parent === undefined) return;
    const self = row?._uuid ?? this.#resolve(wanted);
    const holder = this.#resolve(parent);
    if (self === undefined || holder === undefined) return;
    if (isNamed(holder)) {
      const insert = this.#inserts.get(rowId(parent.table, parent.key));
      if (insert !== undefined)
        insert.row[parent.column] = [...members(insert.row[parent.column] as readonly Atom[]), self];
    } else {
      const parentRow = this.#db.find(parent.table, parent.key);
      const held = members(parentRow?.[parent.column] as readonly Atom[] | undefined);
      if (typeof self === 'string' && held.includes(self)) return;
      this.#mutate(parent.table, holder, [parent.column, 'insert', [self]]);
    }
    if (row !== undefined) this.#orphan(wanted.table, row._uuid, isNamed(holder) ? undefined : holder);
  }

  /** Deletes what the owner has but no longer wants; a row that another owner wants now is that one's. */
  #prune(owner: string, desired: Desired | undefined): void {
    const kept = new Set<string>();
    for (const { table, key } of desired?.rows ?? []) {
      const row = this.#db.find(table, key, owner);
      if (row !== undefined) kept.add(row._uuid);
    }
    for (const { table, row } of this.#db.ownedBy(owner)) {
      if (kept.has(row._uuid)) continue;
      const key = this.#db.keyOf(table, row);
      const next = key === undefined ? undefined : this.#batch.wantedBy(table, key);
      if (
        key !== undefined &&
        next !== undefined &&
        next !== owner &&
        this.#db.find(table, key, next)?._uuid === row._uuid
      )
        continue;
      this.#writes += 1;
      if (this.#db.isRoot(table)) this.#removals.push({ op: 'delete', table, where: [['_uuid', '==', row._uuid]] });
      else this.#orphan(table, row._uuid, undefined);
    }
  }

  /** A row that is no root goes when nothing refers to it strongly any more. */
  #orphan(table: string, uuid: string, except: string | undefined): void {
    for (const parent of this.#db.parentsOf(table)) {
      const where: [string, '==' | '!=' | 'includes', WriteValue][] = [[parent.column, 'includes', [uuid]]];
      if (except !== undefined) where.push(['_uuid', '!=', except]);
      this.#removals.push({ op: 'mutate', table: parent.table, where, mutations: [[parent.column, 'delete', [uuid]]] });
    }
  }

  #contribute(contributed: ContributedColumn): void {
    const { table, key, column } = contributed;
    const inserted = this.#inserts.get(rowId(table, key));
    const row = inserted === undefined ? this.#db.find(table, key) : undefined;
    const id = `${table}\0${key}\0${column}`;
    if (inserted === undefined && row === undefined) {
      if (contributed.wanted.size > 0) this.#wait(table, key, id);
      return;
    }
    const wanted = this.#wantedMembers(contributed, id);
    if (inserted !== undefined) {
      const given = inserted.row[column];
      if (wanted.scalar !== undefined) inserted.row[column] = wanted.scalar;
      else if (Object.keys(wanted.entries).length > 0)
        inserted.row[column] = { ...(isMap(given) ? given : {}), ...wanted.entries };
      else if (wanted.values.length > 0)
        inserted.row[column] = [...members(given as readonly Atom[] | undefined), ...wanted.values];
    } else if (row !== undefined) this.#alignContributed(row, contributed, wanted);
  }

  #wantedMembers(contributed: ContributedColumn, id: string): WantedMembers {
    const wanted: {
      values: (Atom | NamedUuid)[];
      entries: Record<string, Atom>;
      absent: string[];
      scalar?: Atom | NamedUuid | null;
    } = {
      values: [],
      entries: {},
      absent: [],
    };
    for (const { member } of contributed.wanted.values()) {
      if (member.kind === 'entry') {
        if (member.value === null) wanted.absent.push(member.entry);
        else wanted.entries[member.entry] = member.value;
        continue;
      }
      const value = isRef(member.value) ? this.#resolve(member.value.ref) : member.value;
      if (value === undefined && isRef(member.value)) this.#wait(member.value.ref.table, member.value.ref.key, id);
      else if (value !== undefined && member.kind === 'scalar') wanted.scalar = value;
      else if (value !== undefined && value !== null) wanted.values.push(value);
    }
    return wanted;
  }

  #alignContributed(row: Row, contributed: ContributedColumn, wanted: WantedMembers): void {
    const { table, column } = contributed;
    const actual = row[column];
    const collected = this.#batch.isCollected(contributed);
    const gone = [...contributed.gone.values()];
    if (wanted.scalar !== undefined || gone.some((member) => member.kind === 'scalar')) {
      const value = wanted.scalar === undefined ? this.#db.emptyOf(table, column) : wanted.scalar;
      if (!isEqual(actual, value)) this.#update(table, row._uuid, column, value);
      return;
    }
    if (isMap(actual)) {
      const back = gone.flatMap((member) => (member.kind === 'entry' ? [member.entry] : []));
      const stale = collected ? Object.keys(actual) : [...back, ...wanted.absent];
      this.#mutateMap(table, row, column, mapDifference(actual, wanted.entries, stale));
      return;
    }
    const have = new Set<Atom>(members(actual as readonly Atom[] | undefined));
    const want = new Set<unknown>(wanted.values);
    const insert = wanted.values.filter((value) => isNamed(value) || !have.has(value));
    const back = gone.flatMap((member) =>
      member.kind === 'member' ? [isRef(member.value) ? this.#resolve(member.value.ref) : member.value] : [],
    );
    const stale = (collected ? [...have] : back).filter(
      (value): value is Atom => value !== undefined && !isNamed(value) && have.has(value) && !want.has(value),
    );
    if (insert.length > 0) this.#mutate(table, row._uuid, [column, 'insert', insert]);
    if (stale.length > 0) this.#mutate(table, row._uuid, [column, 'delete', stale]);
  }

  #mutateMap(
    table: string,
    row: Row,
    column: string,
    { insert, remove }: { insert: ResolvedMap; remove: readonly string[] },
  ): void {
    if (remove.length > 0) this.#mutate(table, row._uuid, [column, 'delete', remove]);
    if (Object.keys(insert).length > 0) this.#mutate(table, row._uuid, [column, 'insert', insert]);
  }

  #update(table: string, uuid: string, column: string, value: WriteValue): void {
    const { row } = entryOf<string, RowWrite>(this.#updates, uuid, () => ({ table, row: {} }));
    row[column] = value;
    this.#writes += 1;
  }

  #mutate(table: string, uuid: string, mutation: Mutation): void {
    entryOf(this.#mutations, uuid, () => ({ table, mutations: [] })).mutations.push(mutation);
    this.#writes += 1;
  }

  #wait(table: string, key: string, who: string): void {
    entryOf(this.#waiting, rowId(table, key), () => new Set<string>()).add(who);
  }

  /** Removals come first, so that a name or index freed here can be taken in the same transaction. */
  #operations(): readonly Operation[] {
    const operations: Operation[] = [...this.#removals];
    for (const { table, uuidName, row } of this.#inserts.values())
      operations.push({ op: 'insert', table, row, uuidName });
    for (const [uuid, { table, row }] of this.#updates)
      operations.push({ op: 'update', table, where: [['_uuid', '==', uuid]], row });
    for (const [uuid, { table, mutations }] of this.#mutations)
      operations.push({ op: 'mutate', table, where: [['_uuid', '==', uuid]], mutations });
    return operations;
  }
}

interface RowWrite {
  readonly table: string;
  readonly row: Record<string, WriteValue>;
}

interface WantedMembers {
  readonly values: readonly (Atom | NamedUuid)[];
  readonly entries: Readonly<Record<string, Atom>>;
  readonly absent: readonly string[];
  readonly scalar?: Atom | NamedUuid | null;
}

function isRef(value: unknown): value is Ref {
  return typeof value === 'object' && value !== null && 'ref' in value && typeof value.ref === 'object';
}

function refsOf(wanted: Wanted): readonly Ref['ref'][] {
  if (isRef(wanted)) return [wanted.ref];
  if (Array.isArray(wanted))
    return (wanted as readonly (Atom | Ref)[]).flatMap((member) => (isRef(member) ? [member.ref] : []));
  if (typeof wanted !== 'object' || wanted === null) return [];
  return Object.values(wanted).flatMap((member) => (isRef(member) ? [member.ref] : []));
}
