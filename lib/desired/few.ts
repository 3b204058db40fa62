/** Strings under a key, held without a Set while there is one: indexes have ten thousands of such keys. */
export type Few = string | Set<string>;

/** Adds `value` to what `map` has under `key`. */
export function addTo<K>(map: Map<K, Few>, key: K, value: string): void {
  const there = map.get(key);
  if (there === undefined) map.set(key, value);
  else if (typeof there !== 'string') there.add(value);
  else if (there !== value) map.set(key, new Set([there, value]));
}

/** Takes `value` from what `map` has under `key`, and the key with its last value. */
export function removeFrom<K>(map: Map<K, Few>, key: K, value: string): void {
  const there = map.get(key);
  if (there === value) map.delete(key);
  else if (typeof there === 'object' && there.delete(value) && there.size === 0) map.delete(key);
}

/** All values, in the order they came. */
export function allOf(few: Few | undefined): Iterable<string> {
  if (few === undefined) return [];
  return typeof few === 'string' ? [few] : few;
}

/** The value that came first. */
export function firstOf(few: Few | undefined): string | undefined {
  return typeof few === 'object' ? few.values().next().value : few;
}

export function countOf(few: Few | undefined): number {
  if (few === undefined) return 0;
  return typeof few === 'string' ? 1 : few.size;
}
