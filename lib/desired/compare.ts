/** Compares cached values with wanted ones whose references are already resolved. Pure. */
import type { Atom, NamedUuid, Value, WriteValue } from 'ovsdb-client';

export type ResolvedMap = Readonly<Record<string, Atom | NamedUuid>>;

export function isNamed(value: unknown): value is NamedUuid {
  return typeof value === 'object' && value !== null && 'named' in value && typeof value.named === 'string';
}

export function isMap(value: Value | WriteValue | undefined): value is ResolvedMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNamed(value);
}

/** A scalar, an optional scalar or a set, all as the list of its members. */
export function members<T extends Atom | NamedUuid>(value: T | null | readonly T[] | undefined): readonly T[] {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

/** Whether writing `wanted` over `actual` would change nothing. */
export function isEqual(actual: Value | undefined, wanted: WriteValue): boolean {
  if (isMap(wanted) || isMap(actual)) {
    return isMap(actual) && isMap(wanted) && isEqualMap(actual, wanted);
  }
  const have = new Set<Atom>(members(actual as Atom | null | readonly Atom[]));
  const want = new Set<Atom>();
  for (const member of members(wanted)) {
    if (isNamed(member)) return false;
    want.add(member);
  }
  return have.size === want.size && [...want].every((member) => have.has(member));
}

function isEqualMap(actual: Readonly<Record<string, Atom>>, wanted: ResolvedMap): boolean {
  const keys = Object.keys(wanted);
  return keys.length === Object.keys(actual).length && keys.every((key) => actual[key] === wanted[key]);
}

export interface MapDifference {
  /** Entries to write, new ones and those with another value. */
  readonly insert: ResolvedMap;
  /** Keys whose entry must go first, because OVSDB's `insert` leaves an existing entry as it is. */
  readonly remove: readonly string[];
}

/** What it takes to make `wanted` true of a map that others write too; `gone` are entries to take back. */
export function mapDifference(
  actual: Readonly<Record<string, Atom>>,
  wanted: ResolvedMap,
  gone: Iterable<string>,
): MapDifference {
  const insert: Record<string, Atom | NamedUuid> = {};
  const remove: string[] = [];
  for (const [key, value] of Object.entries(wanted)) {
    if (actual[key] === value) continue;
    insert[key] = value;
    if (Object.hasOwn(actual, key)) remove.push(key);
  }
  for (const key of gone) if (Object.hasOwn(actual, key) && !Object.hasOwn(wanted, key)) remove.push(key);
  return { insert, remove };
}
