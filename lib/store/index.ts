/** Indexes over a store, by whatever keys its objects have. */
import { addTo, allOf, removeFrom, type Few } from '../desired/few.ts';
import type { Store } from './store.ts';

export interface Index {
  /** Names of the objects with this key, in the order in which they got it. */
  of(key: string): Iterable<string>;
  /** Every key that an object has. */
  keys(): Iterable<string>;
}

/** An index of the store's objects; `keysOf` says an object's keys and depends on nothing but its value. */
export function index<V>(store: Store<V>, keysOf: (value: V) => Iterable<string>): Index {
  const names = new Map<string, Few>();
  store.follow((name, before, after) => {
    const was = before === undefined ? noKeys : new Set(keysOf(before));
    const is = after === undefined ? noKeys : new Set(keysOf(after));
    for (const key of was) if (!is.has(key)) removeFrom(names, key, name);
    for (const key of is) if (!was.has(key)) addTo(names, key, name);
  });
  return { of: (key) => allOf(names.get(key)), keys: () => names.keys() };
}

const noKeys: ReadonlySet<string> = new Set();
