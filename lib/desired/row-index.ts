/**
 * Index of the rows of an OVSDB cache by key and by owner, and of the rows that may be adopted by content.
 *
 * In: the cache's rows once, then its changes. Out: the row of a key, the rows of an owner. Used only by the OVSDB
 * target. The index holds uuids, not rows: only the cache holds rows.
 */
import type { Cache, Change, Row } from 'ovsdb-client';
import { entryOf } from './entry-of.ts';
import { addTo, removeFrom, type Few } from './few.ts';

export interface RowIdentity {
  /** The row's key in its table; undefined if it has none. */
  keyOf(table: string, row: Row): string | undefined;
  /** The full owner id; undefined for an unowned row or a row of another product. */
  ownerOf(table: string, row: Row): string | undefined;
  /** Whether a row without key and owner may be adopted. */
  isAdoptable(table: string, row: Row): boolean;
}

/** Called only if several rows have the key. */
export type OwnerFor = (table: string, key: string) => string | undefined;

export interface OwnedRow {
  readonly table: string;
  readonly row: Row;
}

/** Rows without key and owner that may be adopted. */
export interface Unowned {
  readonly uuids: Set<string>;
  /** Counts additions: an index of the rows is valid while this does not change. */
  version: number;
}

/** An owner's rows as table, uuid, table, uuid, …: an array is a tenth of a map's size. */
type TablesAndUuids = string[];

export class RowIndex {
  readonly #cache: Cache;
  readonly #identity: RowIdentity;
  /** table → key → uuids */
  readonly #byKey = new Map<string, Map<string, Few>>();
  readonly #byOwner = new Map<string, TablesAndUuids>();
  readonly #unowned = new Map<string, Unowned>();

  constructor(cache: Cache, tables: Iterable<string>, identity: RowIdentity) {
    this.#cache = cache;
    this.#identity = identity;
    for (const table of tables) for (const row of cache.table(table).rows.values()) this.#add(table, row);
  }

  update({ table, before, after }: Change): void {
    if (before !== undefined && after !== undefined && this.#isSame(table, before, after)) return;
    if (before !== undefined) this.#remove(table, before);
    if (after !== undefined) this.#add(table, after);
  }

  /** The row with this key: the row of `owner` (or of the owner that it returns), else an unowned row, else any. */
  find(table: string, key: string, owner?: string | OwnerFor): Row | undefined {
    const uuids = this.#byKey.get(table)?.get(key);
    if (uuids === undefined) return undefined;
    const { rows } = this.#cache.table(table);
    if (typeof uuids === 'string') return rows.get(uuids);
    const preferred = typeof owner === 'function' ? owner(table, key) : owner;
    let best: Row | undefined;
    let bestRank = -1;
    for (const uuid of uuids) {
      const row = rows.get(uuid);
      if (row === undefined) continue;
      const holder = this.#identity.ownerOf(table, row);
      const rank = holder !== undefined && holder === preferred ? 2 : holder === undefined ? 1 : 0;
      if (rank > bestRank) [best, bestRank] = [row, rank];
    }
    return best;
  }

  ownedBy(owner: string): readonly OwnedRow[] {
    const rows: OwnedRow[] = [];
    const owned = this.#byOwner.get(owner) ?? [];
    for (let i = 0; i < owned.length; i += 2) {
      const [table = '', uuid = ''] = [owned[i], owned[i + 1]];
      const row = this.#cache.table(table).rows.get(uuid);
      if (row !== undefined) rows.push({ table, row });
    }
    return rows;
  }

  owners(): MapIterator<string> {
    return this.#byOwner.keys();
  }

  /** Rows of the table that may be adopted by content; undefined while there are none. */
  unowned(table: string): Readonly<Unowned> | undefined {
    const unowned = this.#unowned.get(table);
    return unowned === undefined || unowned.uuids.size === 0 ? undefined : unowned;
  }

  #isSame(table: string, before: Row, after: Row): boolean {
    const owner = this.#identity.ownerOf(table, after);
    // The values that an index of unowned rows was built from may have changed.
    if (owner === undefined) return false;
    return (
      owner === this.#identity.ownerOf(table, before) &&
      this.#identity.keyOf(table, before) === this.#identity.keyOf(table, after)
    );
  }

  #add(table: string, row: Row): void {
    const key = this.#identity.keyOf(table, row);
    if (key !== undefined) {
      addTo(
        entryOf(this.#byKey, table, () => new Map<string, Few>()),
        key,
        row._uuid,
      );
    }
    const owner = this.#identity.ownerOf(table, row);
    const owned = owner === undefined ? undefined : this.#byOwner.get(owner);
    // A literal, because an array grown by `push` reserves room for sixteen more.
    if (owner !== undefined && owned === undefined) this.#byOwner.set(owner, [table, row._uuid]);
    else if (owned !== undefined) owned.push(table, row._uuid);
    else if (key === undefined && this.#identity.isAdoptable(table, row)) {
      const unowned = entryOf(this.#unowned, table, () => ({ uuids: new Set<string>(), version: 0 }));
      unowned.uuids.add(row._uuid);
      unowned.version += 1;
    }
  }

  #remove(table: string, row: Row): void {
    const key = this.#identity.keyOf(table, row);
    const keys = this.#byKey.get(table);
    if (key !== undefined && keys !== undefined) removeFrom(keys, key, row._uuid);
    const owner = this.#identity.ownerOf(table, row);
    const owned = owner === undefined ? undefined : this.#byOwner.get(owner);
    const at = owned?.indexOf(row._uuid) ?? -1;
    if (at > 0) owned?.splice(at - 1, 2);
    if (owner !== undefined && owned?.length === 0) this.#byOwner.delete(owner);
    if (owner === undefined) this.#unowned.get(table)?.uuids.delete(row._uuid);
  }
}
