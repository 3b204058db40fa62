/** The addresses of several names in one set. Pure. */

/** Addresses of one family of all names that a pattern matches, with the former ones. */
export const mostOfPattern = 5000;

interface Part {
  readonly current: Iterable<string>;
  readonly left: ReadonlyMap<string, number>;
}

export interface UnitedRecord {
  /** Sorted. */
  readonly current: readonly string[];
  /** Sorted by address. An address that one of the names has is not among them. */
  readonly left: ReadonlyMap<string, number>;
  readonly isShort: boolean;
}

/** @param parts those that come first count first, where there are too many */
export function uniteRecords(parts: readonly Part[]): UnitedRecord {
  const current = new Set<string>();
  let isShort = false;
  for (const part of parts)
    for (const address of part.current) {
      if (current.size < mostOfPattern) current.add(address);
      else isShort ||= !current.has(address);
    }
  const left = new Map<string, number>();
  for (const part of parts)
    for (const [address, untilMs] of part.left)
      if (!current.has(address)) left.set(address, Math.max(untilMs, left.get(address) ?? 0));
  const latest = [...left].sort(([a, aMs], [b, bMs]) => bMs - aMs || (a < b ? -1 : 1));
  const kept = latest.slice(0, mostOfPattern - current.size);
  return { current: [...current].sort(), left: new Map(kept.sort(([a], [b]) => (a < b ? -1 : 1))), isShort };
}
