/** Objects that a test sets, in place of a watch. */
import type { Mirror, MirrorChange } from './state/cluster.ts';

export class TestMirror<T> implements Mirror<T> {
  readonly #values = new Map<string, T>();
  readonly #listeners = new Set<(change: MirrorChange<T>) => void>();

  get(key: string): T | undefined {
    return this.#values.get(key);
  }

  entries(): MapIterator<[string, T]> {
    return this.#values.entries();
  }

  subscribe(listener: (change: MirrorChange<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  set(key: string, after: T | undefined): void {
    const before = this.#values.get(key);
    if (after === undefined) this.#values.delete(key);
    else this.#values.set(key, after);
    for (const listener of this.#listeners) listener({ key, before, after });
  }
}
