/** Reads the ownership ids that rows carry in `external_ids`; the reconciler writes them. */
import type { Row } from 'ovsdb-client';
import { externalId } from '../api/names.ts';
import { isSingleton, keyColumn, singletonKey } from './identity.ts';

export interface Owner {
  readonly room: string;
  /** `<feature>/<key>`, as the plan named it. */
  readonly name: string;
}

/** One entry of the row's `external_ids`; undefined if the row, its table or the entry lacks it. */
export function externalIdOf(row: Row, id: string): string | undefined {
  const ids = row['external_ids'];
  if (ids === null || typeof ids !== 'object' || Array.isArray(ids)) return undefined;
  if (!Object.hasOwn(ids, id)) return undefined;
  const value = (ids as Readonly<Record<string, unknown>>)[id];
  return typeof value === 'string' ? value : undefined;
}

/** `<room>/<feature>/<key>`; undefined for rows of other programs. */
export function ownerIdOf(row: Row): string | undefined {
  return externalIdOf(row, externalId.owner);
}

/** The owner id, split at its first slash; undefined for rows of other programs. */
export function ownerOf(row: Row): Owner | undefined {
  const id = ownerIdOf(row);
  const slash = id?.indexOf('/') ?? -1;
  return id === undefined || slash <= 0 ? undefined : { room: id.slice(0, slash), name: id.slice(slash + 1) };
}

/** The row's key within its table (see identity.ts); undefined if nothing identifies it. */
export function keyOf(table: string, row: Row): string | undefined {
  if (isSingleton(table)) return singletonKey;
  const column = keyColumn(table);
  if (column === undefined) return externalIdOf(row, externalId.key);
  const name = row[column];
  return typeof name === 'string' ? name : undefined;
}
