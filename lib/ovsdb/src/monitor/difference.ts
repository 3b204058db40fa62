import { compareAtoms } from '../notation/compare.ts';
import { sortedMap } from '../notation/decode.ts';
import type { Atom, Value } from '../value.ts';

/**
 * Applies what a `modify` of update2 or update3 says of one set or map column (ovsdb-server(7)): members of a set
 * are toggled; a map's entry is removed where the difference repeats it, else added or replaced.
 */
export function applyDifference(before: Value | undefined, difference: Value): Value {
  return isList(difference)
    ? toggle(isList(before) ? before : [], difference)
    : merge(entriesOf(before), entriesOf(difference));
}

/** `before` is sorted, and usually much longer than the difference: the members between two differences are copied as a whole. */
function toggle(before: readonly Atom[], difference: readonly Atom[]): Value {
  const after: Atom[] = [];
  let from = 0;
  for (const atom of [...difference].sort(compareAtoms)) {
    const at = placeOf(before, atom, from);
    for (let next = from; next < at; next++) after.push(before[next] as Atom);
    from = at;
    if (before[at] === atom) from += 1;
    else after.push(atom);
  }
  for (let next = from; next < before.length; next++) after.push(before[next] as Atom);
  return after;
}

/** Index of the first member, from `low` on, that is not before `atom`. */
function placeOf(sorted: readonly Atom[], atom: Atom, low: number): number {
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareAtoms(sorted[middle] as Atom, atom) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function merge(before: Readonly<Record<string, Atom>>, difference: Readonly<Record<string, Atom>>): Value {
  const entries = new Map(Object.entries(before));
  for (const [key, atom] of Object.entries(difference)) {
    if (entries.get(key) === atom) entries.delete(key);
    else entries.set(key, atom);
  }
  return sortedMap([...entries]);
}

function entriesOf(value: Value | undefined): Readonly<Record<string, Atom>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, Atom>>) : {};
}

function isList(value: Value | undefined): value is readonly Atom[] {
  return Array.isArray(value);
}
