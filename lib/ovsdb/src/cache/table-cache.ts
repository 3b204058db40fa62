import type { TableCache } from '../client-types.ts';
import type { Atom, Row } from '../value.ts';

type Key = Atom;
/** A row alone is held without a Map, which would be many times its size: most indexes are unique. */
type Bucket = Row | Map<string, Row>;

/** The rows of one table, with its indexes. Only the monitor writes to it. */
export class MirroredTable implements TableCache {
  readonly rows = new Map<string, Row>();
  readonly #name: string;
  readonly #indexes = new Map<string, { readonly columns: readonly string[]; readonly buckets: Map<Key, Bucket> }>();

  constructor(name: string, indexes: readonly (readonly string[])[]) {
    this.#name = name;
    for (const columns of indexes) this.#indexes.set(columns.join(), { columns, buckets: new Map() });
  }

  byIndex(columns: readonly string[], values: readonly Atom[]): readonly Row[] {
    const index = this.#indexes.get(columns.join());
    if (index === undefined)
      throw new TypeError(
        `table ${this.#name} has no index over ${columns.join(', ')}: ask for it in OvsdbOptions.indexes`,
      );
    const bucket = index.buckets.get(keyOfValues(values));
    if (bucket === undefined) return [];
    return bucket instanceof Map ? [...bucket.values()] : [bucket];
  }

  /** Puts a row in, or takes it out where `after` is undefined. */
  put(uuid: string, before: Row | undefined, after: Row | undefined): void {
    if (after === undefined) this.rows.delete(uuid);
    else this.rows.set(uuid, after);
    for (const { columns, buckets } of this.#indexes.values()) {
      const oldKey = before === undefined ? undefined : keyOfRow(before, columns);
      const newKey = after === undefined ? undefined : keyOfRow(after, columns);
      if (oldKey !== undefined && oldKey !== newKey) remove(buckets, oldKey, uuid);
      if (newKey !== undefined && after !== undefined) add(buckets, newKey, after);
    }
  }
}

function add(buckets: Map<Key, Bucket>, key: Key, row: Row): void {
  const there = buckets.get(key);
  if (there instanceof Map) there.set(row._uuid, row);
  else if (there === undefined || there._uuid === row._uuid) buckets.set(key, row);
  else buckets.set(key, new Map([there, row].map((one) => [one._uuid, one])));
}

function remove(buckets: Map<Key, Bucket>, key: Key, uuid: string): void {
  const bucket = buckets.get(key);
  if (bucket instanceof Map) {
    bucket.delete(uuid);
    if (bucket.size === 0) buckets.delete(key);
  } else if (bucket?._uuid === uuid) buckets.delete(key);
}

/** Undefined for a row that lacks one of the values: it is in no index over it. */
function keyOfRow(row: Row, columns: readonly string[]): Key | undefined {
  const values: Atom[] = [];
  for (const column of columns) {
    const value = valueAt(row, column);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return keyOfValues(values);
}

function keyOfValues(values: readonly Atom[]): Key {
  const [first] = values;
  return values.length === 1 && first !== undefined ? first : JSON.stringify(values);
}

/** `column`, or `column:key` for one entry of a map column. */
function valueAt(row: Row, column: string): Atom | undefined {
  const colon = column.indexOf(':');
  const value = row[colon < 0 ? column : column.slice(0, colon)];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object') return value;
  if (colon < 0 || Array.isArray(value)) return undefined;
  const entries = value as Readonly<Record<string, Atom>>;
  const key = column.slice(colon + 1);
  return Object.hasOwn(entries, key) ? entries[key] : undefined;
}
