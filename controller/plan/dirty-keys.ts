/**
 * Collects the keys whose plans or statuses may have changed. In: changes of objects and of settled values, in the order in
 * which they happen. Out: keys (`pod/default/web`, `gateway/ovn-default/n1`, …), once a round. Called by `main.ts` and `apply/`.
 */
import type { Change } from '../model/change.ts';
import type { View } from '../model/view.ts';
import { features } from './features.ts';

export class DirtyKeys {
  readonly #view: View;
  #keys = new Set<string>();
  #isFirst = true;

  constructor(view: View) {
    this.#view = view;
  }

  changed(change: Change): void {
    for (const feature of features)
      for (const id of feature.reads(change, this.#view)) this.#keys.add(`${feature.name}/${id}`);
  }

  /** The keys that became dirty since they were taken last; the first time, the key of every object is among them. */
  take(): ReadonlySet<string> {
    if (this.#isFirst) this.#addAll();
    this.#isFirst = false;
    const keys = this.#keys;
    this.#keys = new Set();
    return keys;
  }

  #addAll(): void {
    for (const feature of features) for (const id of feature.all(this.#view)) this.#keys.add(`${feature.name}/${id}`);
  }
}
