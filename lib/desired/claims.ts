/** Claims of owners on rows: the first claimant has the row, the next gets it when the first releases it. */
import { rowId } from './contributions.ts';
import { entryOf } from './entry-of.ts';
import { addTo, allOf, firstOf, removeFrom, type Few } from './few.ts';
import type { Desired } from './row.ts';

export class Claims {
  /** table → key → owners */
  readonly #claimants = new Map<string, Map<string, Few>>();

  /** Replaces the owner's claims; returns owners that now get a row that they were refused before. */
  replace(owner: string, before: Desired | undefined, after: Desired | undefined): readonly string[] {
    for (const { table, key } of after?.rows ?? [])
      addTo(
        entryOf(this.#claimants, table, () => new Map<string, Few>()),
        key,
        owner,
      );
    if (before === undefined) return [];
    const kept = new Set((after?.rows ?? []).map(({ table, key }) => rowId(table, key)));
    const heirs: string[] = [];
    for (const { table, key } of before.rows) {
      const keys = this.#claimants.get(table);
      if (keys === undefined || kept.has(rowId(table, key))) continue;
      removeFrom(keys, key, owner);
      heirs.push(...allOf(keys.get(key)));
    }
    return heirs;
  }

  holder(table: string, key: string): string | undefined {
    return firstOf(this.#claimants.get(table)?.get(key));
  }
}
