/** When two statuses are the same. Pure. */
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';

/**
 * Whether both are the same JSON except for the order of fields, which the API server changes. An undefined field is an
 * absent one.
 */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((part, at) => isSameJson(part, b[at]))
    );
  return areSameFields(a as Fields, b as Fields);
}

type Fields = Readonly<Record<string, unknown>>;

function areSameFields(a: Fields, b: Fields): boolean {
  let count = 0;
  for (const field in a) {
    if (a[field] === undefined) continue;
    count += 1;
    if (!isSameJson(a[field], b[field])) return false;
  }
  for (const field in b) if (b[field] !== undefined) count -= 1;
  return count === 0;
}

/** Without measurements, which change all the time. */
export function withoutMeasures({ paths, ...status }: RemoteClusterStatus): RemoteClusterStatus {
  return { ...status, paths: (paths ?? []).map((path) => ({ ...path, rttMs: 0, lossPercent: 0, flaps: 0 })) };
}
