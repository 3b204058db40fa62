/**
 * The contributions of all owners by column.
 *
 * In: each owner's contributions, from its plan. Out: the held members of each column, with their holders. A member is
 * held from the moment its owner wants it until the transaction that removes it is done, so that one owner's removal
 * never removes a member of another owner. Bookkeeping only: no values, no database.
 */
import type { Atom } from 'ovsdb-client';
import { entryOf } from './entry-of.ts';
import { addTo, removeFrom, type Few } from './few.ts';
import { isRef, type Contribution, type Ref } from './row.ts';
import type { SharedColumn } from './stored-plan.ts';

/** Identifies a member within its column independent of its value in the database, because a uuid may change. */
export type MemberId = string;

export type Member =
  | { readonly kind: 'member'; readonly id: MemberId; readonly value: Atom | Ref }
  | { readonly kind: 'entry'; readonly id: MemberId; readonly entry: string; readonly value: Atom | null }
  | { readonly kind: 'scalar'; readonly id: MemberId; readonly value: Atom | Ref | null };

export interface ContributedColumn {
  readonly column: string;
  /** Holders by member. */
  readonly holders: Map<MemberId, Few>;
  /** Number of wanted rows that declare the column as collected. */
  collectors: number;
  /** Objects shared by stored plans: one for each form of contribution. */
  shared: readonly SharedColumn[];
}

export type ColumnId = string;

export function rowId(table: string, key: string): string {
  return `${table}\0${key}`;
}

export function columnId(table: string, key: string, column: string): ColumnId {
  return `${table}\0${key}\0${column}`;
}

export interface ColumnName {
  readonly table: string;
  readonly key: string;
  readonly column: string;
}

export function columnOf(id: ColumnId): ColumnName {
  const [table = '', key = '', column = ''] = id.split('\0');
  return { table, key, column };
}

export const scalarId: MemberId = '!';

export function entryId(entry: string): MemberId {
  return `.${entry}`;
}

/** First characters of ids that are not the member's own text. */
const marks = '=@.!';

/** A value is its own id, which saves memory, unless it could be mistaken for another id. */
export function literalId(value: Atom): MemberId {
  return typeof value !== 'string' || isAmbiguous(value) ? `=${value}` : value;
}

/** The id of a row, from its key. A column refers to rows of one table, and its values that are not rows are uuids. */
export function referenceId(table: string, key: string): MemberId {
  return isAmbiguous(key) || uuid.test(key) ? `@${table}\0${key}` : key;
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isAmbiguous(text: string): boolean {
  return text === '' || marks.includes(text.charAt(0));
}

/** Splits a contribution into its members. */
export function membersOf({ values, entries, value }: Contribution): readonly Member[] {
  const members: Member[] = [];
  for (const one of values ?? []) members.push({ kind: 'member', id: idOf(one), value: one });
  if (entries !== undefined)
    for (const [entry, one] of Object.entries(entries))
      members.push({ kind: 'entry', id: entryId(entry), entry, value: one });
  if (value !== undefined) members.push({ kind: 'scalar', id: scalarId, value });
  return members;
}

/** The ids of its members. Large sets are compared by them each time they change. */
function idsIn({ values = [], entries, value }: Contribution): readonly MemberId[] {
  const ids = values.map(idOf);
  if (entries !== undefined) for (const entry of Object.keys(entries)) ids.push(entryId(entry));
  if (value !== undefined) ids.push(scalarId);
  return ids;
}

function idOf(value: Atom | Ref): MemberId {
  return isRef(value) ? referenceId(value.ref.table, value.ref.key) : literalId(value);
}

export interface GivenMember {
  readonly contribution: Contribution;
  readonly member: Member;
}

/** The members of `before` that are in none of `kept`. */
export function withdrawn(
  before: readonly Contribution[] | undefined,
  kept: readonly (readonly Contribution[] | undefined)[],
): readonly GivenMember[] {
  if (before === undefined || before.length === 0) return [];
  const ids = new Map<ColumnId, Set<MemberId>>();
  for (const contributions of kept)
    for (const contribution of contributions ?? []) {
      const { table, key, column } = contribution;
      const ofColumn = entryOf(ids, columnId(table, key, column), () => new Set<MemberId>());
      for (const id of idsIn(contribution)) ofColumn.add(id);
    }
  const gone: GivenMember[] = [];
  for (const contribution of before) {
    const { table, key, column } = contribution;
    const staying = ids.get(columnId(table, key, column));
    if (staying !== undefined && idsIn(contribution).every((id) => staying.has(id))) continue;
    for (const member of membersOf(contribution))
      if (staying?.has(member.id) !== true) gone.push({ contribution, member });
  }
  return gone;
}

export function fullId({ table, key, column }: Contribution, id: MemberId): string {
  return `${table}\0${key}\0${column}\0${id}`;
}

export class Contributions {
  /** rowId → its columns, in arrays of minimum size: most rows have one column, and a map would be larger than its content. */
  readonly #rows = new Map<string, readonly ContributedColumn[]>();

  /** The shared object of all stored plans with the same form of contribution to a column. */
  share(wanted: SharedColumn): SharedColumn {
    const open = this.#open(wanted.table, wanted.key, wanted.column);
    const isSame = (one: SharedColumn): boolean => one.refTable === wanted.refTable && one.required === wanted.required;
    const same = open.shared.find(isSame);
    if (same === undefined) open.shared = open.shared.concat(wanted);
    return same ?? wanted;
  }

  /** Makes `owner` a holder of the members of `contributions`, in addition to its former members. */
  hold(owner: string, contributions: readonly Contribution[] | undefined): void {
    for (const contribution of contributions ?? []) {
      const { holders } = this.#open(contribution.table, contribution.key, contribution.column);
      for (const id of idsIn(contribution)) addTo(holders, id, owner);
    }
  }

  /** `owner` no longer holds these members. */
  release(owner: string, members: readonly GivenMember[]): void {
    for (const { contribution, member } of members) {
      const { table, key, column } = contribution;
      const holders = this.column(table, key, column)?.holders;
      if (holders === undefined) continue;
      removeFrom(holders, member.id, owner);
      this.#forgetUnused(table, key, column);
    }
  }

  /** Counts a row that declares the column as collected; true for the first row. */
  collect(table: string, key: string, column: string): boolean {
    return this.#open(table, key, column).collectors++ === 0;
  }

  uncollect(table: string, key: string, column: string): void {
    const contributed = this.column(table, key, column);
    if (contributed !== undefined) contributed.collectors -= 1;
    this.#forgetUnused(table, key, column);
  }

  column(table: string, key: string, column: string): ContributedColumn | undefined {
    return this.columnsOf(table, key).find((one) => one.column === column);
  }

  /** The contributed and collected columns of one row. */
  columnsOf(table: string, key: string): readonly ContributedColumn[] {
    return this.#rows.get(rowId(table, key)) ?? [];
  }

  /** Collected columns: their content is exactly the contributions. */
  *collected(): Generator<ColumnId, void> {
    for (const [row, columns] of this.#rows)
      for (const { column, collectors } of columns) if (collectors > 0) yield `${row}\0${column}`;
  }

  #open(table: string, key: string, column: string): ContributedColumn {
    const there = this.column(table, key, column);
    if (there !== undefined) return there;
    const opened: ContributedColumn = { column, holders: new Map<MemberId, Few>(), collectors: 0, shared: [] };
    this.#rows.set(rowId(table, key), this.columnsOf(table, key).concat(opened));
    return opened;
  }

  #forgetUnused(table: string, key: string, column: string): void {
    const contributed = this.column(table, key, column);
    if (contributed === undefined || contributed.collectors > 0 || contributed.holders.size > 0) return;
    const rest = this.columnsOf(table, key).filter((one) => one !== contributed);
    if (rest.length === 0) this.#rows.delete(rowId(table, key));
    else this.#rows.set(rowId(table, key), rest);
  }
}
