import { keyOf } from './resources.ts';
import type { RawObject, ReflectorChange } from './types.ts';

interface Entry<T> {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly value: T;
}

/** The objects of one full list, parsed. */
export type Snapshot<T> = Map<string, Entry<T>>;

/** The parsed objects of one kind by key; notifies listeners of every difference and of nothing else. */
export class Mirror<T> {
  readonly #parse: (raw: RawObject) => T;
  readonly #listeners = new Set<(change: ReflectorChange<T>) => void>();
  readonly #entries: Snapshot<T> = new Map();

  constructor(parse: (raw: RawObject) => T) {
    this.#parse = parse;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  entries(): MapIterator<[string, T]> {
    return this.#entries.entries().map(([key, entry]): [string, T] => [key, entry.value]);
  }

  subscribe(listener: (change: ReflectorChange<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  put(raw: RawObject): void {
    const { uid, resourceVersion } = raw.metadata;
    // A resumed watch may repeat events.
    if (this.#has(keyOf(raw.metadata), { uid, resourceVersion })) return;
    this.#set(keyOf(raw.metadata), { uid, resourceVersion, value: this.#parse(raw) });
  }

  delete(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    this.#entries.delete(key);
    this.#tell({ key, before: before.value, after: undefined });
  }

  /** Parses an object into a snapshot; a known version of an object is not parsed again. */
  collect(snapshot: Snapshot<T>, raw: RawObject): void {
    const key = keyOf(raw.metadata);
    const { uid, resourceVersion } = raw.metadata;
    const known = this.#entries.get(key);
    const isKnown = known !== undefined && this.#has(key, { uid, resourceVersion });
    snapshot.set(key, isKnown ? known : { uid, resourceVersion, value: this.#parse(raw) });
  }

  /** Replaces the content by the snapshot. Deletions come first: they release resources that additions may claim. */
  replace(snapshot: Snapshot<T>): void {
    for (const key of this.#entries.keys()) if (!snapshot.has(key)) this.delete(key);
    for (const [key, entry] of snapshot) if (!this.#has(key, entry)) this.#set(key, entry);
  }

  #has(key: string, wanted: { readonly uid: string; readonly resourceVersion: string }): boolean {
    const known = this.#entries.get(key);
    return known?.resourceVersion === wanted.resourceVersion && known.uid === wanted.uid;
  }

  #set(key: string, entry: Entry<T>): void {
    // Another uid under the same name is another object: everything that depends on the first object has to go.
    if (this.#entries.has(key) && this.#entries.get(key)?.uid !== entry.uid) this.delete(key);
    const before = this.#entries.get(key);
    this.#entries.set(key, entry);
    this.#tell({ key, before: before?.value, after: entry.value });
  }

  #tell(change: ReflectorChange<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}
