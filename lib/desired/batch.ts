/**
 * What a transaction is made of, and what is made of it. The database is read through `Database`; a `Batch` is what some owners want.
 */
import type { Atom, Row } from 'ovsdb-client';
import type { Adoption } from './adoption.ts';
import type { BidsFor } from './bids.ts';
import type { ColumnId, ColumnName, ContributedColumn } from './contributions.ts';
import type { Draft } from './draft.ts';
import type { Problem } from './problem.ts';
import type { Desired, OwnEntries } from './row.ts';
import type { OwnedRow, OwnerFor } from './row-index.ts';
import type { SchemaFacts } from './schema-facts.ts';

export interface Database extends SchemaFacts {
  find(table: string, key: string, owner?: string | OwnerFor): Row | undefined;
  row(table: string, uuid: string): Row | undefined;
  ownedBy(owner: string): readonly OwnedRow[];
  ownerOf(table: string, row: Row): string | undefined;
  keyOf(table: string, row: Row): string | undefined;
  /** `name` where the table's key is that column; otherwise the key stands in external_ids. */
  keyColumn(table: string): string | undefined;
  readonly ownEntries: OwnEntries;
  readonly adoption: Adoption;
}

export interface OwnerBatch {
  /** What the owner wants now; undefined: nothing. */
  readonly desired: Desired | undefined;
  /** What it wanted when it was last applied: tells which contributions and entries of shared maps to take back. */
  readonly applied: Desired | undefined;
}

/** Members or entries to look at, where nobody may hold them. */
export type Unheld = 'all' | ReadonlySet<Atom>;

export interface Batch {
  readonly owners: ReadonlyMap<string, OwnerBatch>;
  /** Collected columns to clear of what nobody holds. */
  readonly unheld: ReadonlyMap<ColumnId, Unheld>;
  /** Which owner wants a row; the first that asked, where several do. */
  readonly wantedBy: (table: string, key: string) => string | undefined;
  /** Owners of this target; rows of others are never written. */
  readonly isOurs: (owner: string) => boolean;
  readonly holdersOf: (column: ColumnName) => ContributedColumn['holders'] | undefined;
  /** What owners want of an entry or scalar, where they disagree. */
  readonly bidsFor: BidsFor;
  /** Whether the owner's present plan is not in the database yet. */
  readonly isPending: (owner: string) => boolean;
}

export interface BuiltTransaction {
  readonly draft: Draft;
  /** Of owners whose plans are not written. */
  readonly problems: ReadonlyMap<string, Problem>;
  /** Of owners whose plans are written but for entries and scalars that another owner has. */
  readonly losses: ReadonlyMap<string, Problem>;
  /** Owners whose rows or contributions are written. */
  readonly written: ReadonlySet<string>;
  /** Rows waited for: `rowId` → owners that need it. */
  readonly waiting: ReadonlyMap<string, ReadonlySet<string>>;
  /** Columns to clear again once these owners' plans are applied. */
  readonly deferred: ReadonlyMap<string, ReadonlySet<ColumnId>>;
}
