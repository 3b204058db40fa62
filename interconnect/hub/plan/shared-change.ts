/** Changes of exports for several receivers, which mostly have the same before: computed once. Pure. */
import { changeOf } from '../../model/export-change.ts';
import type { ExportChange } from '../../model/export-messages.ts';
import type { ExportedService } from '../../model/exported-service.ts';

export interface SharedChange {
  /** Undefined if nothing has changed. */
  readonly change: ExportChange | undefined;
  /** JSON characters. */
  readonly size: number;
}

const unsent = {};

export class SharedChanges {
  /** After → before → change. */
  readonly #changes = new WeakMap<ExportedService, WeakMap<object, SharedChange>>();

  between(before: ExportedService | undefined, after: ExportedService): SharedChange {
    const known = this.#changes.get(after) ?? new WeakMap<object, SharedChange>();
    this.#changes.set(after, known);
    const found = known.get(before ?? unsent);
    if (found !== undefined) return found;
    const change = changeOf(before, after);
    const shared = { change, size: change === undefined ? 0 : JSON.stringify(change).length };
    known.set(before ?? unsent, shared);
    return shared;
  }
}
