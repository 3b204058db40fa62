/**
 * Who contributes what to which column.
 *
 * In: each owner's contributions, as its plan returned them. Out: the columns that this made dirty, and for a
 * column its wanted members and those to take back. Pure bookkeeping; the transaction builder resolves and writes.
 */
import type { Atom } from 'ovsdb-client';
import { entryOf } from './entry-of.ts';
import type { Contribution, Ref } from './row.ts';

export type Member =
  | { readonly kind: 'member'; readonly value: Atom | Ref }
  | { readonly kind: 'entry'; readonly entry: string; readonly value: Atom | null }
  | { readonly kind: 'scalar'; readonly value: Atom | Ref | null };

interface Held {
  readonly member: Member;
  readonly owners: Set<string>;
}

export interface ContributedColumn {
  readonly table: string;
  readonly key: string;
  readonly column: string;
  readonly wanted: Map<string, Held>;
  /** Taken back, not yet seen gone from the database. */
  readonly gone: Map<string, Member>;
}

export type ColumnId = string;

export function columnId(table: string, key: string, column: string): ColumnId {
  return `${table}\0${key}\0${column}`;
}

export class Contributions {
  readonly #columns = new Map<ColumnId, ContributedColumn>();
  readonly #byOwner = new Map<string, ReadonlyMap<string, Member>>();

  /** Replaces what `owner` contributes; returns the columns this changes. */
  set(owner: string, contributions: readonly Contribution[]): ReadonlySet<ColumnId> {
    const next = new Map<string, Member>();
    for (const contribution of contributions) {
      const id = columnId(contribution.table, contribution.key, contribution.column);
      for (const member of membersOf(contribution)) next.set(`${id}\0${memberId(member)}`, member);
    }
    const before = this.#byOwner.get(owner) ?? new Map<string, Member>();
    const dirty = new Set<ColumnId>();
    for (const [id, member] of before) if (!next.has(id)) dirty.add(this.#withdraw(owner, id, member));
    for (const [id, member] of next) if (!before.has(id)) dirty.add(this.#add(owner, id, member));
    if (next.size === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, next);
    return dirty;
  }

  column(id: ColumnId): ContributedColumn | undefined {
    return this.#columns.get(id);
  }

  ids(): MapIterator<ColumnId> {
    return this.#columns.keys();
  }

  /** To be called when the database agrees with the column: nothing is left to take back. */
  settle(id: ColumnId): void {
    const column = this.#columns.get(id);
    if (column === undefined) return;
    column.gone.clear();
    if (column.wanted.size === 0) this.#columns.delete(id);
  }

  #add(owner: string, id: string, member: Member): ColumnId {
    const [table = '', key = '', name = ''] = id.split('\0');
    const columnKey = columnId(table, key, name);
    const column = entryOf(this.#columns, columnKey, () => ({
      table,
      key,
      column: name,
      wanted: new Map(),
      gone: new Map(),
    }));
    entryOf(column.wanted, memberId(member), () => ({ member, owners: new Set() })).owners.add(owner);
    column.gone.delete(memberId(member));
    return columnKey;
  }

  #withdraw(owner: string, id: string, member: Member): ColumnId {
    const [table = '', key = '', name = ''] = id.split('\0');
    const columnKey = columnId(table, key, name);
    const column = this.#columns.get(columnKey);
    const held = column?.wanted.get(memberId(member));
    if (column !== undefined && held?.owners.delete(owner) && held.owners.size === 0) {
      column.wanted.delete(memberId(member));
      column.gone.set(memberId(member), member);
    }
    return columnKey;
  }
}

function membersOf(contribution: Contribution): readonly Member[] {
  const members: Member[] = [];
  for (const value of contribution.values ?? []) members.push({ kind: 'member', value });
  for (const [entry, value] of Object.entries(contribution.entries ?? {}))
    members.push({ kind: 'entry', entry, value });
  if (contribution.value !== undefined) members.push({ kind: 'scalar', value: contribution.value });
  return members;
}

/** Equal for equal members, so that a changed entry or scalar is one withdrawn and one added. */
function memberId(member: Member): string {
  return `${member.kind}\0${member.kind === 'entry' ? `${member.entry}\0` : ''}${JSON.stringify(member.value)}`;
}
