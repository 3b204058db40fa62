/**
 * The wanted and the applied plan of each owner, with the claims on rows, the contributions, and the contested entries.
 * In: new plans, and notice of applied plans. Out: owners and columns to process again. No I/O.
 */
import { isContestable, isSameValue, wantedIn, type Bid } from './bids.ts';
import { Claims } from './claims.ts';
import {
  columnId,
  Contributions,
  fullId,
  membersOf,
  withdrawn,
  type ColumnId,
  type MemberId,
} from './contributions.ts';
import { allOf, type Few } from './few.ts';
import type { Contribution, Desired } from './row.ts';
import { StoredPlan } from './stored-plan.ts';

export class Plans {
  readonly contributions = new Contributions();
  readonly #claims = new Claims();
  readonly #desired = new Map<string, StoredPlan>();
  /** Mostly the same objects as in `#desired`. */
  readonly #applied = new Map<string, StoredPlan>();
  /** Entries and scalars whose holders want different values, by `fullId`. */
  readonly #contested = new Set<string>();

  /** Replaces the owner's plan; returns the other affected owners, and collected columns to clear. */
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
      this.contributions.release(owner, gone);
      // The database may have these from an earlier process; a plan that was never applied cannot remove them.
      for (const { contribution } of gone) columns.push(...this.#collectedColumn(contribution));
    }
    owners.push(...this.#review(owner, [before, desired, applied]));
    return { owners, columns };
  }

  /** `desired` is in the database; returns the other owners that may now have an entry or scalar. */
  commit(owner: string, desired: StoredPlan | undefined): readonly string[] {
    const before = this.#applied.get(owner);
    if (before === desired) return [];
    if (desired === undefined) this.#applied.delete(owner);
    else this.#applied.set(owner, desired);
    const current = this.#desired.get(owner);
    // This plan was replaced while it was written, and the newer plan released its members.
    if (current !== desired) this.contributions.hold(owner, desired?.contributions);
    this.contributions.release(
      owner,
      withdrawn(before?.contributions, [desired?.contributions, current?.contributions]),
    );
    return this.#review(owner, [before, desired]);
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

  /** The owner that wants a row; the first claimant if there are several. */
  wantedBy(table: string, key: string): string | undefined {
    return this.#claims.holder(table, key);
  }

  /** The bids of the holders of an entry or scalar, if they disagree. */
  bidsFor(contribution: Contribution, id: MemberId): readonly Bid[] | undefined {
    if (this.#contested.size === 0 || !this.#contested.has(fullId(contribution, id))) return undefined;
    const holders = this.#holdersOf(contribution, id);
    return [...allOf(holders)].flatMap((owner) => this.#bidOf(owner, contribution, id) ?? []);
  }

  /** Owners that want another value of an entry or scalar than `owner` wants or wanted. */
  rivalsOf(owner: string): readonly string[] {
    if (this.#contested.size === 0) return [];
    const rivals: string[] = [];
    for (const desired of [this.#desired.get(owner), this.#applied.get(owner)])
      for (const [contribution, id] of contestable(desired))
        if (this.#contested.has(fullId(contribution, id))) rivals.push(...allOf(this.#holdersOf(contribution, id)));
    return rivals;
  }

  /** After a change of the plan of `owner`: returns the other holders of entries that are or were contested. */
  #review(owner: string, plans: readonly (Desired | undefined)[]): readonly string[] {
    const others = new Set<string>();
    for (const desired of new Set(plans))
      for (const [contribution, id] of contestable(desired)) {
        const full = fullId(contribution, id);
        const was = this.#contested.has(full);
        const holders = this.#holdersOf(contribution, id);
        const isContested = this.#disagree(holders, contribution, { id, changed: was ? undefined : owner });
        if (isContested) this.#contested.add(full);
        else this.#contested.delete(full);
        if (was || isContested) for (const holder of allOf(holders)) others.add(holder);
      }
    others.delete(owner);
    return [...others];
  }

  /** Whether holders want different values. If all except `changed` are known to agree, one of them represents all. */
  #disagree(
    holders: Few | undefined,
    contribution: Contribution,
    { id, changed }: { readonly id: MemberId; readonly changed: string | undefined },
  ): boolean {
    if (typeof holders !== 'object' || (changed !== undefined && !holders.has(changed))) return false;
    const first = changed ?? [...holders][0] ?? '';
    const value = this.#bidOf(first, contribution, id)?.value ?? null;
    for (const holder of holders) {
      if (holder === first) continue;
      const other = this.#bidOf(holder, contribution, id)?.value ?? null;
      if (!isSameValue(value, other)) return true;
      if (changed !== undefined) return false;
    }
    return false;
  }

  #bidOf(owner: string, contribution: Contribution, id: MemberId): Bid | undefined {
    const [desired, applied] = [this.#desired.get(owner), this.#applied.get(owner)];
    const wanted = wantedIn(desired, contribution, id);
    const bid = wanted ?? wantedIn(applied, contribution, id);
    const createdMs = (wanted === undefined ? applied : desired)?.createdMs;
    return bid === undefined ? undefined : { owner, value: bid.value, createdMs, isLeaving: wanted === undefined };
  }

  #holdersOf({ table, key, column }: Contribution, id: MemberId): Few | undefined {
    return this.contributions.column(table, key, column)?.holders.get(id);
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

/** Entries and scalars of a plan, about which owners can disagree. */
function* contestable(desired: Desired | undefined): Generator<readonly [Contribution, MemberId], void> {
  for (const contribution of desired?.contributions ?? [])
    if (isContestable(contribution))
      for (const { kind, id } of membersOf(contribution)) if (kind !== 'member') yield [contribution, id];
}
