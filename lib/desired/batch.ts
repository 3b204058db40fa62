/**
 * Input and output of the transaction builder. `Database` gives access to the rows; a `Batch` holds the plans of some owners.
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
  /** `name` if that column is the table's key; otherwise the key is in external_ids. */
  keyColumn(table: string): string | undefined;
  readonly ownEntries: OwnEntries;
  readonly adoption: Adoption;
}

export interface OwnerBatch {
  /** The owner's present plan; undefined: none. */
  readonly desired: Desired | undefined;
  /** The plan that was last applied: contributions and shared map entries that are only in it are removed. */
  readonly applied: Desired | undefined;
}

/** Members or entries to check for a missing holder. */
export type Unheld = 'all' | ReadonlySet<Atom>;

export interface Batch {
  readonly owners: ReadonlyMap<string, OwnerBatch>;
  /** Collected columns from which members without a holder are removed. */
  readonly unheld: ReadonlyMap<ColumnId, Unheld>;
  /** The owner that wants a row; the first claimant if there are several. */
  readonly wantedBy: (table: string, key: string) => string | undefined;
  /** Owners of this target; rows of others are never written. */
  readonly isOurs: (owner: string) => boolean;
  readonly holdersOf: (column: ColumnName) => ContributedColumn['holders'] | undefined;
  /** The bids of owners for an entry or scalar if they disagree. */
  readonly bidsFor: BidsFor;
  /** Whether the owner's present plan is not in the database yet. */
  readonly isPending: (owner: string) => boolean;
}

export interface BuiltTransaction {
  readonly draft: Draft;
  /** Problems of owners whose plans are not written. */
  readonly problems: ReadonlyMap<string, Problem>;
  /** Problems of owners whose plans are written without entries and scalars that another owner has. */
  readonly losses: ReadonlyMap<string, Problem>;
  /** Owners whose rows or contributions are written. */
  readonly written: ReadonlySet<string>;
  /** Missing rows: `rowId` → owners that need the row. */
  readonly waiting: ReadonlyMap<string, ReadonlySet<string>>;
  /** Columns to clear again once these owners' plans are applied. */
  readonly deferred: ReadonlyMap<string, ReadonlySet<ColumnId>>;
}
