import type { Cache } from 'ovsdb-client';
import type { Tables as IcNorthbound } from './generated/ic-northbound.ts';
import type { Tables as IcSouthbound } from './generated/ic-southbound.ts';
import type { Tables as Northbound } from './generated/northbound.ts';
import type { Tables as OpenVSwitch } from './generated/open-vswitch.ts';
import type { Tables as Southbound } from './generated/southbound.ts';

/** A cached table whose rows have types. Columns that are not monitored, or that an older server lacks, are undefined all the same. */
export interface TypedTable<Row> {
  readonly rows: ReadonlyMap<string, Row>;
  /** As TableCache.byIndex. */
  byIndex(columns: readonly string[], values: readonly (string | number | boolean)[]): readonly Row[];
}

/** Opens a table by name, with the row type of that table. */
export type TypedCache<Tables> = <Name extends keyof Tables & string>(name: Name) => TypedTable<Tables[Name]>;

export const northbound = (cache: Cache): TypedCache<Northbound> => typed<Northbound>(cache);
export const southbound = (cache: Cache): TypedCache<Southbound> => typed<Southbound>(cache);
export const icNorthbound = (cache: Cache): TypedCache<IcNorthbound> => typed<IcNorthbound>(cache);
export const icSouthbound = (cache: Cache): TypedCache<IcSouthbound> => typed<IcSouthbound>(cache);
export const openVSwitch = (cache: Cache): TypedCache<OpenVSwitch> => typed<OpenVSwitch>(cache);

function typed<Tables>(cache: Cache): TypedCache<Tables> {
  return <Name extends keyof Tables & string>(name: Name) => cache.table(name) as unknown as TypedTable<Tables[Name]>;
}
