/**
 * What each owner wants and what of it is in the database; with it who claims which row and who contributes what.
 * In: plans as they come, and word that one was applied. Out: owners and columns to look at again. No I/O.
 */
import { Claims } from './claims.ts';
import { columnId, Contributions, withdrawn, type ColumnId } from './contributions.ts';
import type { Contribution, Desired } from './row.ts';
import { StoredPlan } from './stored-plan.ts';

export class Plans {
  readonly contributions = new Contributions();
  readonly #claims = new Claims();
  readonly #desired = new Map<string, StoredPlan>();
  /** Mostly the same objects as in `#desired`. */
  readonly #applied = new Map<string, StoredPlan>();

  /** Replaces the owner's plan; returns the other owners it concerns, and collected columns to clear. */
  replace(
    owner: string,
    plan: Desired | undefined,
  ): { readonly owners: readonly string[]; readonly columns: readonly ColumnId[] } {
    const before = this.#desired.get(owner);
    const desired = plan && new StoredPlan(plan, (column) => this.contributions.share(column));
    if (desired === undefined) this.#desired.delete(owner);
    else this.#desired.set(owner, desired);
    const owners = [...this.#claims.replace(owner, before, desired)];
    const columns = [...this.#collect(before, desired)];
    this.contributions.hold(owner, desired?.contributions);
    const applied = this.#applied.get(owner);
    if (before !== applied) {
      const gone = withdrawn(before?.contributions, [desired?.contributions, applied?.contributions]);
      owners.push(...this.contributions.release(owner, gone));
      // The database may have these from before this process; a plan that was never applied cannot take them back.
      for (const { contribution } of gone) columns.push(...this.#collectedColumn(contribution));
    }
    return { owners, columns };
  }

  /** `desired` is in the database; returns owners whose value of an entry or scalar counts now. */
  commit(owner: string, desired: StoredPlan | undefined): readonly string[] {
    const before = this.#applied.get(owner);
    if (before === desired) return [];
    if (desired === undefined) this.#applied.delete(owner);
    else this.#applied.set(owner, desired);
    const current = this.#desired.get(owner);
    // A plan that came while this one was written released this one's members.
    if (current !== desired) this.contributions.hold(owner, desired?.contributions);
    return this.contributions.release(
      owner,
      withdrawn(before?.contributions, [desired?.contributions, current?.contributions]),
    );
  }

  desiredOf(owner: string): StoredPlan | undefined {
    return this.#desired.get(owner);
  }

  appliedOf(owner: string): StoredPlan | undefined {
    return this.#applied.get(owner);
  }

  isPending(owner: string): boolean {
    return this.#desired.get(owner) !== this.#applied.get(owner);
  }

  owners(): MapIterator<string> {
    return this.#desired.keys();
  }

  /** Which owner wants a row; the first that asked, where several do. */
  wantedBy(table: string, key: string): string | undefined {
    return this.#claims.holder(table, key);
  }

  #collectedColumn({ table, key, column }: Contribution): readonly ColumnId[] {
    const collectors = this.contributions.column(table, key, column)?.collectors ?? 0;
    return collectors > 0 ? [columnId(table, key, column)] : [];
  }

  #collect(before: Desired | undefined, after: Desired | undefined): readonly ColumnId[] {
    const fresh: ColumnId[] = [];
    for (const { table, key, collects } of after?.rows ?? [])
      for (const column of collects ?? [])
        if (this.contributions.collect(table, key, column)) fresh.push(columnId(table, key, column));
    for (const { table, key, collects } of before?.rows ?? [])
      for (const column of collects ?? []) this.contributions.uncollect(table, key, column);
    return fresh;
  }
}
