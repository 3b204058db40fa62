/** Which owners want which row: the first to ask has it, the next gets it when the first lets go. */
import { entryOf } from './entry-of.ts';
import type { Desired } from './row.ts';
import { rowId } from './transaction.ts';

export class Claims {
  readonly #claimants = new Map<string, Set<string>>();

  /** Replaces the owner's claims; returns owners that may now have a row they were refused. */
  replace(owner: string, before: Desired | undefined, after: Desired | undefined): ReadonlySet<string> {
    const kept = new Set((after?.rows ?? []).map(({ table, key }) => rowId(table, key)));
    for (const id of kept) entryOf(this.#claimants, id, () => new Set<string>()).add(owner);
    const heirs = new Set<string>();
    for (const { table, key } of before?.rows ?? []) {
      const id = rowId(table, key);
      const claimants = this.#claimants.get(id);
      if (kept.has(id) || claimants === undefined) continue;
      claimants.delete(owner);
      for (const heir of claimants) heirs.add(heir);
      if (claimants.size === 0) this.#claimants.delete(id);
    }
    return heirs;
  }

  holder(table: string, key: string): string | undefined {
    return this.#claimants.get(rowId(table, key))?.values().next().value;
  }
}
