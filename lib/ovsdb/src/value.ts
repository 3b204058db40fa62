/**
 * Values as this package shows them. A column of at most one value is `T | null`, a set of more is a
 * sorted array, a map is a plain object (integer keys as decimal strings). Uuids are plain strings: the
 * schema knows which columns hold them.
 */
export type Atom = string | number | boolean;

/** The value of a column in a cached row. */
export type Value = Atom | null | readonly Atom[] | Readonly<Record<string, Atom>>;

/** A row of the same transaction, named by its `insert` operation's `uuidName`. */
export interface NamedUuid {
  readonly named: string;
}

/** A value that a transaction may write to a column. */
export type WriteValue =
  | Atom
  | NamedUuid
  | null
  | readonly (Atom | NamedUuid)[]
  | Readonly<Record<string, Atom | NamedUuid>>;

/** One cached row. Immutable: an update replaces the object. */
export type Row = Readonly<Record<string, Value>> & { readonly _uuid: string };
