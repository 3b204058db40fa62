/** The mirror of one database: contains only the server's monitor updates. It outlives connections. */
import type { Cache, Change, TableCache } from '../client-types.ts';
import { MirroredTable } from './table-cache.ts';

export class MirroredDatabase implements Cache {
  readonly #tables = new Map<string, MirroredTable>();
  readonly #indexes: Readonly<Record<string, readonly (readonly string[])[]>>;

  /** `indexes` as in OvsdbOptions. */
  constructor(indexes: Readonly<Record<string, readonly (readonly string[])[]>>) {
    this.#indexes = indexes;
  }

  table(name: string): TableCache {
    return this.#open(name);
  }

  /** Names of the tables that hold or held rows. */
  names(): readonly string[] {
    return [...this.#tables.keys()];
  }

  row(table: string, uuid: string): Change['before'] {
    return this.#open(table).rows.get(uuid);
  }

  apply(changes: readonly Change[]): void {
    for (const change of changes) this.#open(change.table).put(change.uuid, change.before, change.after);
  }

  #open(name: string): MirroredTable {
    let table = this.#tables.get(name);
    if (table === undefined) this.#tables.set(name, (table = new MirroredTable(name, this.#indexes[name] ?? [])));
    return table;
  }
}
