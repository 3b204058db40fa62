/**
 * Plans for an OVSDB target: rows that an owner owns, and contributions to rows that several owners share.
 * Plain data; references are resolved to uuids only when a transaction is built.
 */
import type { Atom } from 'ovsdb-client';

/** Refers to a row by its key within the table, whether the row has an owner or not. */
export interface Ref {
  readonly ref: { readonly table: string; readonly key: string };
}

export type Wanted = Atom | Ref | null | readonly (Atom | Ref)[] | Readonly<Record<string, Atom | Ref>>;

/**
 * A row that its owner's plan wants to exist.
 *
 * `key` is unique within the table. For tables with a `name` column that OVN looks up (switches, routers,
 * ports, groups …) the key is the name, so that an unowned row of that name is adopted. In other tables it is any
 * string. Only the given columns are compared and written. `external_ids` are merged with the ownership ids.
 */
export interface DesiredRow {
  readonly table: string;
  readonly key: string;
  readonly columns: Readonly<Record<string, Wanted>>;
  /** Columns written only when the row is inserted. An existing row keeps its values. */
  readonly initial?: Readonly<Record<string, Wanted>>;
  /**
   * For tables without a name: columns, or map entries written as `external_ids:<entry>`. If no row has this key, an
   * unowned row (external_ids empty or of vendor kube-ovn) under the same parent is adopted if its values of all
   * these columns equal the wanted ones. It is then updated like any other row.
   */
  readonly adopts?: readonly string[];
  /** For tables that are not roots: the row and column that refer to this row. The reference is added and removed with it. */
  readonly parent?: { readonly table: string; readonly key: string; readonly column: string };
  /** Map columns shared with other writers: only the entries given here are compared and written. */
  readonly shared?: readonly string[];
  /**
   * Set or map columns that contain exactly the `Contribution`s of all owners of this room. Not in `columns`. References to
   * rows of other rooms stay: those rooms contribute them.
   */
  readonly collects?: readonly string[];
}

/**
 * An addition to a column of a row of any owner: `values` to a set, `entries` to a map (null: the entry must be
 * absent), `value` to a scalar. It is applied by `mutate` (a scalar by `update`) and removed when the owner's plan no
 * longer returns it: members and entries are deleted, a scalar is emptied. It is written in the transaction that writes
 * its owner's rows, and removed in the transaction that deletes or changes them. If the row does not exist yet, only
 * the contribution waits for it. Several owners may contribute the same member. If they want different values of an
 * entry or scalar, one owner wins and the others get the problem `EntryWantedTwice`; the rest of their plans is written.
 */
export interface Contribution {
  readonly table: string;
  readonly key: string;
  readonly column: string;
  readonly values?: readonly (Atom | Ref)[];
  readonly entries?: Readonly<Record<string, Atom | null>>;
  readonly value?: Atom | Ref | null;
  /** The owner's rows wait too, until the target row and the referenced rows exist and no other owner has the entry. */
  readonly required?: boolean;
}

/** For a map column shared with other writers: which entries may be removed. Undefined for a column that only the rows' owners write. */
export type OwnEntries = (table: string, column: string) => ((entry: string, value: Atom) => boolean) | undefined;

export interface Desired {
  readonly rows: readonly DesiredRow[];
  readonly contributions?: readonly Contribution[];
  /** Changes of owners with the same text are one transaction, however many they are: one of them alone would mean something else. */
  readonly together?: string;
  /**
   * When the object of the owner was created, in milliseconds since 1970. If owners want different values of an entry or
   * scalar, the oldest owner wins. An owner without this time is older than owners with one.
   */
  readonly createdMs?: number;
}

export function ref(table: string, key: string): Ref {
  return { ref: { table, key } };
}

export function isRef(value: unknown): value is Ref {
  return typeof value === 'object' && value !== null && 'ref' in value && typeof value.ref === 'object';
}
