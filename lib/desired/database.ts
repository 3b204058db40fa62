/** Access to an OVSDB client's cache for the transaction builder. */
import type { OvsdbClient, Row } from 'ovsdb-client';
import { externalId, vendor } from '../api/names.ts';
import { keyColumn } from '../ovn/identity.ts';
import { externalIdOf, keyOf as keyIn, ownerIdOf } from '../ovn/owner.ts';
import { Adoption } from './adoption.ts';
import type { OwnEntries } from './row.ts';
import { RowIndex } from './row-index.ts';
import { schemaFacts } from './schema-facts.ts';
import type { Database } from './batch.ts';

export interface DatabaseOptions {
  /** Its monitor must include every table and column the room writes, and their external_ids. */
  readonly client: OvsdbClient;
  /** Prefix of every owner id: `controller`, `daemon`, … */
  readonly room: string;
  /** For tables without external_ids: the owner of a row (without the room), and its key. */
  readonly ownerOf?: (table: string, row: Row) => string | undefined;
  readonly keyOf?: (table: string, row: Row) => string | undefined;
  /**
   * For map columns shared with other writers: which entries plans of this room write, and may therefore remove. Undefined for a
   * column that only the rows' owners write.
   */
  readonly ownEntries?: OwnEntries;
}

export interface IndexedDatabase {
  readonly database: Database;
  readonly index: RowIndex;
}

export function indexDatabase({ client, room, ...options }: DatabaseOptions): IndexedDatabase {
  const keyOf = (table: string, row: Row): string | undefined => keyIn(table, row) ?? options.keyOf?.(table, row);
  const ownerOf = (table: string, row: Row): string | undefined => {
    const owner = ownerIdOf(row);
    if (owner !== undefined || options.ownerOf === undefined) return owner;
    const known = options.ownerOf(table, row);
    return known === undefined ? undefined : `${room}/${known}`;
  };
  const isAdoptable = (table: string, row: Row): boolean => keyColumn(table) === undefined && isOfNobody(row);
  const { cache, schema } = client;
  const index = new RowIndex(cache, Object.keys(schema.tables), { keyOf, ownerOf, isAdoptable });
  const database: Database = {
    ...schemaFacts(schema),
    keyOf,
    ownerOf,
    keyColumn,
    find: (table, key, owner) => index.find(table, key, owner),
    row: (table, uuid) => cache.table(table).rows.get(uuid),
    ownedBy: (owner) => index.ownedBy(owner),
    ownEntries: options.ownEntries ?? (() => undefined),
    adoption: new Adoption(cache, (table) => index.unowned(table)),
  };
  return { database, index };
}

/** A row without an owner that Kube-OVN wrote, or that has no external_ids at all. */
function isOfNobody(row: Row): boolean {
  const ids = row['external_ids'];
  if (typeof ids !== 'object' || ids === null) return false;
  return externalIdOf(row, externalId.vendor) === vendor || Object.keys(ids).length === 0;
}
