/** What differs between two maps, or changes in one. */

/** Keys whose values are not the same in both, with the value of each. */
export function* changesBetween<V>(
  before: ReadonlyMap<string, V> | undefined,
  after: ReadonlyMap<string, V>,
): Generator<readonly [key: string, before: V | undefined, after: V | undefined]> {
  for (const key of new Set([...(before?.keys() ?? []), ...after.keys()])) {
    const [was, is] = [before?.get(key), after.get(key)];
    if (was !== is) yield [key, was, is];
  }
}

/**
 * Takes new values into a map; undefined deletes the entry.
 * @returns the keys whose values are others now
 */
export function takeChanges<V>(map: Map<string, V>, changes: ReadonlyMap<string, V | undefined>): readonly string[] {
  const changed = [...changes].filter(([key, value]) => map.get(key) !== value);
  for (const [key, value] of changed) {
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }
  return changed.map(([key]) => key);
}
