import type { Atom, Row, Value } from '../value.ts';

/** Orders atoms of one type: numbers by size, strings by UTF-16 code unit, false before true. */
export function compareAtoms(a: Atom, b: Atom): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether two values of one column are equal. Both must be in this package's form: sets sorted. */
export function sameValue(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (isList(a) || isList(b))
    return isList(a) && isList(b) && a.length === b.length && a.every((atom, index) => atom === b[index]);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

/** Whether two rows have the same columns with equal values. */
export function sameRow(a: Row, b: Row): boolean {
  const columns = Object.keys(a);
  return columns.length === Object.keys(b).length && columns.every((column) => sameValue(a[column], b[column]));
}

// Array.isArray does not narrow readonly arrays out of a union.
function isList(value: readonly Atom[] | Readonly<Record<string, Atom>>): value is readonly Atom[] {
  return Array.isArray(value);
}
