/**
 * A mirror of owners with the entries of their slices, as one value per owner. In: both kinds. Out: a Reflector like any other.
 * Callers: the rooms' `watch/`. Rules: nothing is delivered before both kinds are synced; the changes of one answer of the API
 * server are one change of the owner; where the view says so, those that follow soon are one as well.
 */
import { reflect } from '../kube/reflector.ts';
import type { Reflector, ReflectorChange, ReflectorOptions } from '../kube/types.ts';
import { entriesOf, parseSlice, selectorOf, type Slice, type SlicedView } from './slice.ts';

export interface SlicedReflectorOptions extends Pick<
  ReflectorOptions<never>,
  'client' | 'optional' | 'signal' | 'log'
> {
  /** Only the owner of this name. */
  readonly owner?: string;
}

interface Owner<Entry, Merged, T> {
  readonly name: string;
  readonly uid: string;
  readonly sample: readonly Entry[];
  readonly join: (merged: Merged) => T;
}

/** Starts mirroring at once. */
export function reflectSliced<Entry, Merged, T>(
  view: SlicedView<Entry, Merged, T>,
  options: SlicedReflectorOptions,
): Reflector<T> {
  return new SlicedReflector(view, options);
}

class SlicedReflector<Entry, Merged, T> implements Reflector<T> {
  readonly synced: Promise<void>;
  readonly #owners: Reflector<Owner<Entry, Merged, T>>;
  readonly #slices: Reflector<Slice<Entry>>;
  readonly #merge: (entries: readonly Entry[]) => Merged;
  readonly #names = new Map<string, Set<string>>();
  readonly #merged = new Map<string, { readonly uid: string; readonly value: Merged }>();
  readonly #values = new Map<string, { readonly uid: string; readonly value: T }>();
  readonly #listeners = new Set<(change: ReflectorChange<T>) => void>();
  readonly #due = new Set<string>();
  #isSynced = false;
  #isScheduled = false;
  readonly #spacingMs: (entries: number) => number;
  #timer: NodeJS.Timeout | undefined;
  /** Entries merged since the last flush began. */
  #count = 0;
  #nextMs = 0;

  constructor(
    { kind, merge, parse, spacingMs }: SlicedView<Entry, Merged, T>,
    { owner, ...common }: SlicedReflectorOptions,
  ) {
    this.#merge = merge;
    this.#spacingMs = spacingMs ?? (() => 0);
    this.#owners = reflect({
      ...common,
      resource: kind.owners,
      ...(owner === undefined ? {} : { fieldSelector: `metadata.name=${owner}` }),
      parse: (raw) => ({
        name: raw.metadata.name,
        uid: raw.metadata.uid,
        sample: kind.sample(raw),
        join: parse(raw),
      }),
    });
    this.#slices = reflect({
      ...common,
      resource: kind.slices,
      ...(owner === undefined ? {} : { labelSelector: selectorOf(kind, owner) }),
      parse: (raw) => parseSlice(kind, raw),
    });
    this.#owners.subscribe(({ key }) => this.#changed(key));
    this.#slices.subscribe(({ before, after }) => this.#sliceChanged(before, after));
    this.synced = Promise.all([this.#owners.synced, this.#slices.synced]).then(() => {
      this.#isSynced = true;
      this.#flush();
    });
    this.synced.catch(() => undefined);
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): T | undefined {
    return this.#values.get(key)?.value;
  }

  entries(): MapIterator<[string, T]> {
    return this.#values.entries().map(([key, { value }]): [string, T] => [key, value]);
  }

  subscribe(listener: (change: ReflectorChange<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.all([this.#owners.stop(), this.#slices.stop()]);
  }

  #sliceChanged(before: Slice<Entry> | undefined, after: Slice<Entry> | undefined): void {
    if (before !== undefined) {
      this.#names.get(before.owner.name)?.delete(before.name);
      if (this.#names.get(before.owner.name)?.size === 0) this.#names.delete(before.owner.name);
      this.#merged.delete(before.owner.name);
      this.#changed(before.owner.name);
    }
    if (after === undefined) return;
    const names = this.#names.get(after.owner.name) ?? new Set();
    this.#names.set(after.owner.name, names.add(after.name));
    this.#merged.delete(after.owner.name);
    this.#changed(after.owner.name);
  }

  #changed(owner: string): void {
    this.#due.add(owner);
    if (!this.#isSynced || this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#nextMs - performance.now();
    if (waitMs <= 0) queueMicrotask(() => this.#flush());
    else this.#timer = setTimeout(() => this.#flush(), waitMs);
  }

  #flush(): void {
    this.#isScheduled = false;
    const due = [...this.#due];
    this.#due.clear();
    this.#count = 0;
    for (const name of due) this.#become(name, this.#owners.get(name));
    this.#nextMs = performance.now() + this.#spacingMs(this.#count);
  }

  #become(name: string, owner: Owner<Entry, Merged, T> | undefined): void {
    const before = this.#values.get(name);
    if (owner === undefined) return this.#gone(name);
    // Another uid under the same name is another object: everything that depends on the first object has to go.
    if (before !== undefined && before.uid !== owner.uid) this.#gone(name);
    const value = owner.join(this.#mergedOf(owner));
    const previous = this.#values.get(name)?.value;
    this.#values.set(name, { uid: owner.uid, value });
    this.#tell({ key: name, before: previous, after: value });
  }

  #gone(name: string): void {
    const before = this.#values.get(name);
    this.#values.delete(name);
    this.#merged.delete(name);
    if (before !== undefined) this.#tell({ key: name, before: before.value, after: undefined });
  }

  #mergedOf({ name, uid, sample }: Owner<Entry, Merged, T>): Merged {
    const known = this.#merged.get(name);
    if (known?.uid === uid) return known.value;
    const slices = [...(this.#names.get(name) ?? [])].flatMap((slice) => this.#slices.get(slice) ?? []);
    const entries = entriesOf({ name, uid }, slices);
    if (entries === undefined) return this.#merge(sample);
    this.#count += entries.length;
    const value = this.#merge(entries);
    this.#merged.set(name, { uid, value });
    return value;
  }

  #tell(change: ReflectorChange<T>): void {
    for (const listener of this.#listeners) listener(change);
  }
}
