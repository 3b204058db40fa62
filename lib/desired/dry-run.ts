/**
 * What the reconciler would do, without doing it: before a database that another product wrote is taken over.
 *
 * In: the same plans as the reconciler gets. Out: one report of all that would be written, and of what would be left
 * as it is. Rule: nothing is ever sent to the database, and no listener is told, for nothing was applied.
 */
import type { Row, Value } from 'ovsdb-client';
import { indexDatabase, type DatabaseOptions } from './database.ts';
import { reportOf } from './dry-run-report.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import { Plans } from './plans.ts';
import type { Problem } from './problem.ts';
import type { Desired } from './row.ts';
import { buildTransaction } from './transaction.ts';

export interface DryRunTarget extends OvsdbTarget {
  /** What would be done about all that was set; rows of owners without a plan would go only once sealed. */
  report(): DryRunReport;
}

export interface DryRunReport {
  /** One a row, by table and key. */
  readonly changes: readonly DryRunChange[];
  /** Rows of Kube-OVN that no plan wants, and those without any ids in rows that are ours; by table and key. */
  readonly leftAlone: readonly LeftAloneRow[];
  /** Owners whose rows could not be written, by owner. */
  readonly problems: readonly { readonly owner: string; readonly problem: Problem }[];
}

/** In values, a reference to a row stands as the key of that row where it has one. */
export interface DryRunChange {
  /** `adopt`: a row of nobody becomes ours, and is aligned; `mutate`: only members of sets or maps come and go. */
  readonly action: 'insert' | 'adopt' | 'update' | 'delete' | 'mutate';
  readonly table: string;
  /** The row's name, or its isthmus-key, or what its description would be. */
  readonly key: string;
  /** Without the room; undefined for a row of nobody. */
  readonly owner?: string;
  /** Columns written as a whole; `from` is absent for an insert. */
  readonly columns: Readonly<Record<string, ColumnChange>>;
  /** Members of sets, and `name=value` of maps, that are added and removed one by one. */
  readonly members: Readonly<Record<string, MembersChange>>;
  /** The row it is put into, where it is not there yet. */
  readonly parent?: { readonly table: string; readonly key: string; readonly column: string };
}

export interface ColumnChange {
  readonly from?: Value;
  readonly to: Value;
}

export interface MembersChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export interface LeftAloneRow {
  readonly table: string;
  /** Empty where the row has no name. */
  readonly key: string;
  /** A few of its columns, and where it is: `priority 31000, match ip4.dst == 10.0.0.0/8 in Logical_Router ovn-cluster`. */
  readonly description: string;
}

/** A target that only reports. */
export function openDryRun(options: DatabaseOptions): DryRunTarget {
  return new DryRun(options);
}

class DryRun implements DryRunTarget {
  readonly isApplied = true;
  readonly #options: DatabaseOptions;
  readonly #plans = new Plans();
  #isSealed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  set(owner: string, desired: Desired): void {
    this.#plans.replace(this.#full(owner), desired);
  }

  drop(owner: string): void {
    this.#plans.replace(this.#full(owner), undefined);
  }

  desired(owner: string): Desired | undefined {
    return this.#plans.desiredOf(this.#full(owner));
  }

  seal(): void {
    this.#isSealed = true;
  }

  owners(): readonly string[] {
    const ours = [...indexDatabase(this.#options).index.owners()].filter((owner) => this.#isOurs(owner));
    return ours.map((owner) => owner.slice(this.#full('').length));
  }

  untilApplied(): Promise<void> {
    return Promise.resolve();
  }

  onResult(): () => void {
    return () => undefined;
  }

  close(): void {
    this.#isSealed = false;
  }

  /** All owners at once, so that what one inserts is there for the others. */
  report(): DryRunReport {
    const { database, index } = indexDatabase(this.#options);
    const plans = this.#plans;
    const unplanned = this.#isSealed ? [...index.owners()].filter((owner) => this.#isOurs(owner)) : [];
    const owners = new Set([...plans.owners(), ...unplanned]);
    const built = buildTransaction(database, {
      owners: new Map([...owners].map((owner) => [owner, { desired: plans.desiredOf(owner), applied: undefined }])),
      strays: new Map(this.#isSealed ? [...plans.contributions.collected()].map((id) => [id, 'all'] as const) : []),
      wantedBy: (table, key) => plans.wantedBy(table, key),
      isOurs: (owner) => this.#isOurs(owner),
      holdersOf: ({ table, key, column }) => plans.contributions.column(table, key, column)?.holders,
      isPending: (owner) => plans.isPending(owner),
    });
    const tables = Object.keys(this.#options.client.schema.tables);
    const rows = (table: string): Iterable<Row> => this.#options.client.cache.table(table).rows.values();
    const nameOf = (owner: string): string => (this.#isOurs(owner) ? owner.slice(this.#full('').length) : owner);
    return reportOf(built, { database, tables, rows, nameOf });
  }

  #full(owner: string): string {
    return `${this.#options.room}/${owner}`;
  }

  #isOurs(owner: string): boolean {
    return owner.startsWith(this.#full(''));
  }
}
