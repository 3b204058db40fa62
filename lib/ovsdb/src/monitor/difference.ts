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

function toggle(before: readonly Atom[], difference: readonly Atom[]): Value {
  const members = new Set(before);
  for (const atom of difference) {
    if (!members.delete(atom)) members.add(atom);
  }
  return [...members].sort(compareAtoms);
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
