/**
 * Rows of an OVSDB cache by key and by owner.
 *
 * In: the cache's rows once, then its changes. Out: which row has a key, which rows an owner has. Used by the
 * OVSDB target only. It holds uuids, never rows: the cache is the one copy.
 */
import type { Cache, Change, Row } from 'ovsdb-client';
import { entryOf } from './entry-of.ts';

export interface RowIdentity {
  /** The row's key in its table; undefined where it has none. */
  keyOf(table: string, row: Row): string | undefined;
  /** The full owner id; undefined for a row of nobody or of another product. */
  ownerOf(table: string, row: Row): string | undefined;
}

export interface OwnedRow {
  readonly table: string;
  readonly row: Row;
}

export class RowIndex {
  readonly #cache: Cache;
  readonly #identity: RowIdentity;
  /** table → key → uuids */
  readonly #byKey = new Map<string, Map<string, Set<string>>>();
  /** owner → uuid → table */
  readonly #byOwner = new Map<string, Map<string, string>>();

  constructor(cache: Cache, tables: Iterable<string>, identity: RowIdentity) {
    this.#cache = cache;
    this.#identity = identity;
    for (const table of tables) for (const row of cache.table(table).rows.values()) this.#add(table, row);
  }

  update(change: Change): void {
    if (change.before !== undefined) this.#remove(change.table, change.before);
    if (change.after !== undefined) this.#add(change.table, change.after);
  }

  /** The row with this key: the one `owner` has, else one of nobody, else any. */
  find(table: string, key: string, owner?: string): Row | undefined {
    const uuids = this.#byKey.get(table)?.get(key);
    if (uuids === undefined) return undefined;
    let best: Row | undefined;
    let bestRank = -1;
    for (const uuid of uuids) {
      const row = this.#cache.table(table).rows.get(uuid);
      if (row === undefined) continue;
      const holder = this.#identity.ownerOf(table, row);
      const rank = holder !== undefined && holder === owner ? 2 : holder === undefined ? 1 : 0;
      if (rank > bestRank) [best, bestRank] = [row, rank];
    }
    return best;
  }

  ownedBy(owner: string): readonly OwnedRow[] {
    const rows: OwnedRow[] = [];
    for (const [uuid, table] of this.#byOwner.get(owner) ?? []) {
      const row = this.#cache.table(table).rows.get(uuid);
      if (row !== undefined) rows.push({ table, row });
    }
    return rows;
  }

  owners(): MapIterator<string> {
    return this.#byOwner.keys();
  }

  #add(table: string, row: Row): void {
    const key = this.#identity.keyOf(table, row);
    if (key !== undefined) {
      const keys = entryOf(this.#byKey, table, () => new Map<string, Set<string>>());
      entryOf(keys, key, () => new Set<string>()).add(row._uuid);
    }
    const owner = this.#identity.ownerOf(table, row);
    if (owner !== undefined) entryOf(this.#byOwner, owner, () => new Map<string, string>()).set(row._uuid, table);
  }

  #remove(table: string, row: Row): void {
    const key = this.#identity.keyOf(table, row);
    const uuids = key === undefined ? undefined : this.#byKey.get(table)?.get(key);
    if (key !== undefined && uuids?.delete(row._uuid) && uuids.size === 0) this.#byKey.get(table)?.delete(key);
    const owner = this.#identity.ownerOf(table, row);
    const owned = owner === undefined ? undefined : this.#byOwner.get(owner);
    if (owner !== undefined && owned?.delete(row._uuid) && owned.size === 0) this.#byOwner.delete(owner);
  }
}
