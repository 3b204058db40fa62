/**
 * Reports the writes of the reconciler without sending them, before a database of another product is adopted.
 *
 * In: the same plans as the reconciler gets. Out: one report of all writes, and of the rows that would be left
 * unchanged. Rule: nothing is ever sent to the database. No listener is called, because nothing is applied.
 */
import type { Row } from 'ovsdb-client';
import { indexDatabase, type DatabaseOptions } from './database.ts';
import { reportOf, type DryRunReport } from './dry-run-report.ts';
import type { OvsdbTarget } from './ovsdb-target.ts';
import { Plans } from './plans.ts';
import type { Desired } from './row.ts';
import { buildTransaction } from './transaction.ts';

export interface DryRunTarget extends OvsdbTarget {
  /** The writes for all plans that were set. Rows of owners without a plan are deleted only if sealed. */
  report(): DryRunReport;
}

/** A target that only reports. */
export function openDryRun(options: DatabaseOptions): DryRunTarget {
  return new DryRun(options);
}

class DryRun implements DryRunTarget {
  readonly isApplied = true;
  readonly revision = 0;
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
    return this.#plans.desiredOf(this.#full(owner))?.plain();
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

  /** Builds all owners at once, so that owners can refer to rows that other owners insert. */
  report(): DryRunReport {
    const { database, index } = indexDatabase(this.#options);
    const plans = this.#plans;
    const unplanned = this.#isSealed ? [...index.owners()].filter((owner) => this.#isOurs(owner)) : [];
    const owners = new Set([...plans.owners(), ...unplanned]);
    const built = buildTransaction(database, {
      owners: new Map([...owners].map((owner) => [owner, { desired: plans.desiredOf(owner), applied: undefined }])),
      unheld: new Map(this.#isSealed ? [...plans.contributions.collected()].map((id) => [id, 'all'] as const) : []),
      wantedBy: (table, key) => plans.wantedBy(table, key),
      isOurs: (owner) => this.#isOurs(owner),
      holdersOf: ({ table, key, column }) => plans.contributions.column(table, key, column)?.holders,
      bidsFor: (contribution, id) => plans.bidsFor(contribution, id),
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
