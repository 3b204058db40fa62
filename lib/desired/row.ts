/**
 * What plans return for an OVSDB target: rows they own and contributions to rows that many owners fill.
 * Plain data; resolved to uuids only when a transaction is built.
 */
import type { Atom } from 'ovsdb-client';

/** Refers to a row of any owner (or of nobody) by its key within the table. */
export interface Ref {
  readonly ref: { readonly table: string; readonly key: string };
}

export type Wanted = Atom | Ref | null | readonly (Atom | Ref)[] | Readonly<Record<string, Atom | Ref>>;

/**
 * A row that exists because its owner's plan returned it.
 *
 * `key` is unique within the table. For tables with a `name` column that OVN looks up (switches, routers,
 * ports, groups …) it is the name, so that a row of that name without an owner is adopted; elsewhere any
 * string. Only the columns given are compared and written. `external_ids` given here are merged with the
 * ownership ids.
 */
export interface DesiredRow {
  readonly table: string;
  readonly key: string;
  readonly columns: Readonly<Record<string, Wanted>>;
  /** Columns written when the row is inserted, and never again: a row that is there keeps what it has. */
  readonly initial?: Readonly<Record<string, Wanted>>;
  /**
   * For tables without a name: a column, or one entry of a map as `external_ids:<entry>`. Where no row has this key,
   * one of nobody (external_ids empty or of vendor kube-ovn) under the same parent whose values of all these equal
   * those wanted is taken over, and then aligned like any other.
   */
  readonly adopts?: readonly string[];
  /** For tables that are not roots: the row and column that hold this one. Inserted and taken out with it. */
  readonly parent?: { readonly table: string; readonly key: string; readonly column: string };
  /** Map columns in which others keep entries too: only the entries given here are compared and written. */
  readonly shared?: readonly string[];
  /** Set or map columns that hold exactly what `Contribution`s of any owner put there. Not in `columns`. */
  readonly collects?: readonly string[];
}

/**
 * Something added to a column of a row of any owner: `values` to a set, `entries` to a map (null: the entry
 * is wanted absent), `value` to a scalar. Applied by `mutate` (a scalar by `update`), taken back when the owner's plan
 * no longer returns it: members and entries go, a scalar is emptied. It is written in the transaction that writes its
 * owner's rows, and taken back in the one that takes or changes them. A row that is not there yet is waited for, by the
 * contribution alone. Several owners may give the same member; where they want different values of an entry or scalar,
 * one has it and the others get the problem `EntryWantedTwice`, while the rest of their plans is written.
 */
export interface Contribution {
  readonly table: string;
  readonly key: string;
  readonly column: string;
  readonly values?: readonly (Atom | Ref)[];
  readonly entries?: Readonly<Record<string, Atom | null>>;
  readonly value?: Atom | Ref | null;
  /** The owner's rows wait too, until the row this goes into (and those it refers to) are there and no other owner has the entry. */
  readonly required?: boolean;
}

/** Of a map column in which others keep entries too: which entries may be taken out. Undefined for one that is its rows' owners' alone. */
export type OwnEntries = (table: string, column: string) => ((entry: string, value: Atom) => boolean) | undefined;

export interface Desired {
  readonly rows: readonly DesiredRow[];
  readonly contributions?: readonly Contribution[];
  /**
   * When the object behind the owner was created, in milliseconds since 1970. Of owners that want one entry or scalar
   * with different values the oldest has it; an owner without this time is older than those with one.
   */
  readonly createdMs?: number;
}

export function ref(table: string, key: string): Ref {
  return { ref: { table, key } };
}

export function isRef(value: unknown): value is Ref {
  return typeof value === 'object' && value !== null && 'ref' in value && typeof value.ref === 'object';
}
