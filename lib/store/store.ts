/**
 * Objects by name, with indexes that follow them. In: each object's newest value. Out: the objects, and what indexes say of them.
 * An index is declared once, beside the store; nothing else has to keep it.
 */

/** Called with the value before and after; undefined if there is none. */
export type StoreListener<V> = (name: string, before: V | undefined, after: V | undefined) => void;

export class Store<V> extends Map<string, V> {
  readonly #listeners: StoreListener<V>[] = [];

  /** Calls the listener at once for each object there is, and from now on for each change. */
  follow(listener: StoreListener<V>): void {
    this.#listeners.push(listener);
    for (const [name, value] of this) listener(name, undefined, value);
  }

  override set(name: string, value: V): this {
    const before = this.get(name);
    super.set(name, value);
    for (const listener of this.#listeners) listener(name, before, value);
    return this;
  }

  override delete(name: string): boolean {
    const before = this.get(name);
    const isGone = super.delete(name);
    if (isGone) for (const listener of this.#listeners) listener(name, before, undefined);
    return isGone;
  }

  override clear(): void {
    for (const name of this.keys()) this.delete(name);
  }
}
