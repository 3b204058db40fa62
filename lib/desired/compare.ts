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

/** The members of a cached column that is not a map. */
export function atomsOf(value: Value | undefined): readonly Atom[] {
  return isMap(value) ? [] : members(value);
}

/** Whether a cached scalar or set has this member. Cached sets are sorted, so a large one costs a few comparisons. */
export function hasMember(value: Value | undefined, atom: Atom): boolean {
  const list = atomsOf(value);
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const there = list[middle] as Atom;
    if (there === atom) return true;
    if (there < atom) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** Members added to and removed from a cached set. One pass of identity comparisons if nearly all members stayed. */
export function setDifference(
  before: readonly Atom[],
  after: readonly Atom[],
): { readonly added: readonly Atom[]; readonly removed: readonly Atom[] } {
  const added: Atom[] = [];
  const removed: Atom[] = [];
  let [old, now] = [0, 0];
  while (old < before.length || now < after.length) {
    const [a, b] = [before[old], after[now]];
    if (a === b) {
      old += 1;
      now += 1;
    } else if (b === undefined || (a !== undefined && a < b)) {
      removed.push(a as Atom);
      old += 1;
    } else {
      added.push(b);
      now += 1;
    }
  }
  return { added, removed };
}

/** Whether writing `wanted` over `actual` would change nothing. */
export function isEqual(actual: Value | undefined, wanted: WriteValue): boolean {
  if (actual === wanted) return true;
  if (isMap(wanted) || isMap(actual)) {
    return isMap(actual) && isMap(wanted) && isEqualMap(actual, wanted);
  }
  const [there, list] = [atomsOf(actual), members(wanted)];
  if (there.length === list.length && there.every((atom, index) => atom === list[index])) return true;
  const want = new Set(list);
  return there.length === want.size && there.every((atom) => want.has(atom));
}

function isEqualMap(actual: Readonly<Record<string, unknown>>, wanted: ResolvedMap): boolean {
  const keys = Object.keys(wanted);
  return keys.length === Object.keys(actual).length && keys.every((key) => actual[key] === wanted[key]);
}

export interface MapDifference {
  /** Entries to write, new ones and those with another value. */
  readonly insert: ResolvedMap;
  /** Keys whose entry must be removed first, because OVSDB's `insert` does not change an existing entry. */
  readonly remove: readonly string[];
}

/** The changes that bring `wanted` into a map with other writers; `gone` are entries to remove. */
export function mapDifference(
  actual: Readonly<Record<string, unknown>>,
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
