/**
 * Finds unowned rows that match a plan's rows, in tables whose rows have no name: policies, routes, NAT, ACLs.
 *
 * In: a wanted row with resolved values. Out: the row to adopt. The index for each set of columns is built at its
 * first use, and rebuilt only when unowned rows were added. Without unowned rows there is no index.
 */
import type { Atom, Cache, Row, Value, WriteValue } from 'ovsdb-client';
import { hasMember, isMap, isNamed, members } from './compare.ts';
import { entryOf } from './entry-of.ts';
import type { Unowned } from './row-index.ts';
import type { DesiredRow } from './row.ts';

interface ContentIndex {
  readonly version: number;
  /** parent and values → uuids */
  readonly rows: ReadonlyMap<string, string[]>;
}

export type ColumnsOf = (column: string) => WriteValue | undefined;

export class Adoption {
  readonly #cache: Cache;
  readonly #unowned: (table: string) => Readonly<Unowned> | undefined;
  readonly #indexes = new Map<string, ContentIndex>();

  constructor(cache: Cache, unowned: (table: string) => Readonly<Unowned> | undefined) {
    this.#cache = cache;
    this.#unowned = unowned;
  }

  /** The unowned row not in `taken` that `wanted` adopts, under `parent` if given; of several rows an identical row, or the first. */
  find(
    wanted: DesiredRow,
    valueOf: ColumnsOf,
    { parent, taken }: { readonly parent: Row | undefined; readonly taken: ReadonlySet<string> },
  ): Row | undefined {
    const unowned = wanted.adopts === undefined ? undefined : this.#unowned(wanted.table);
    if (wanted.adopts === undefined || unowned === undefined) return undefined;
    if (wanted.parent !== undefined && parent === undefined) return undefined;
    const content = contentOf(wanted.adopts, parent?._uuid, valueOf);
    if (content === undefined) return undefined;
    const { rows } = this.#cache.table(wanted.table);
    const fitting = (this.#index(wanted, unowned).rows.get(content) ?? []).flatMap((uuid) => {
      const row = unowned.uuids.has(uuid) && !taken.has(uuid) ? rows.get(uuid) : undefined;
      const isThere = wanted.parent === undefined || hasMember(parent?.[wanted.parent.column], uuid);
      return row !== undefined && isThere ? [row] : [];
    });
    // Similar rows, such as ACLs that differ only in their tier, are each to be adopted unchanged.
    return (fitting.length < 2 ? undefined : fitting.find((row) => isSame(wanted, valueOf, row))) ?? fitting[0];
  }

  #index(wanted: DesiredRow, { uuids, version }: Readonly<Unowned>): ContentIndex {
    const { table, parent, adopts = [] } = wanted;
    const id = [table, parent?.table, parent?.column, ...adopts].join('\0');
    const known = this.#indexes.get(id);
    if (known?.version === version) return known;
    const parents = parent === undefined ? undefined : this.#parents(parent.table, parent.column, uuids);
    const rows = new Map<string, string[]>();
    for (const uuid of uuids) {
      const row = this.#cache.table(table).rows.get(uuid);
      if (row === undefined) continue;
      const content = contentOf(adopts, parents?.get(uuid), (column) => row[column]);
      if (content !== undefined) entryOf(rows, content, (): string[] => []).push(uuid);
    }
    const index = { version, rows };
    this.#indexes.set(id, index);
    return index;
  }

  #parents(table: string, column: string, children: ReadonlySet<string>): ReadonlyMap<Value, string> {
    const parents = new Map<Value, string>();
    for (const row of this.#cache.table(table).rows.values())
      for (const child of members(row[column] as Atom | null | readonly Atom[]))
        if (children.has(child as string)) parents.set(child, row._uuid);
    return parents;
  }
}

/** Whether adoption changes nothing but the owner of the row. */
function isSame({ columns }: DesiredRow, valueOf: ColumnsOf, row: Row): boolean {
  return Object.keys(columns).every((column) => {
    const [wanted, there] = [canonical(column, valueOf), canonical(column, (one) => row[one])];
    return column === 'external_ids' || JSON.stringify(wanted) === JSON.stringify(there);
  });
}

/** A text that is equal for the same parent and values; undefined if a value refers to a row that does not exist yet. */
function contentOf(columns: readonly string[], parent: string | undefined, valueOf: ColumnsOf): string | undefined {
  const values: unknown[] = [parent ?? null];
  for (const column of columns) {
    const value = canonical(column, valueOf);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return JSON.stringify(values);
}

function canonical(column: string, valueOf: ColumnsOf): unknown {
  const colon = column.indexOf(':');
  const value = valueOf(colon < 0 ? column : column.slice(0, colon));
  if (colon >= 0) {
    const entry = column.slice(colon + 1);
    return isMap(value) && Object.hasOwn(value, entry) ? value[entry] : null;
  }
  if (isMap(value)) return sorted(Object.entries(value).map((entry) => JSON.stringify(entry)));
  const list = members(value);
  return list.some(isNamed) ? undefined : sorted([...new Set(list as readonly Atom[])]);
}

function sorted<T extends Atom>(list: readonly T[]): readonly T[] {
  return [...list].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
