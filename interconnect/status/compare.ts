/** When two statuses are the same. Pure. */
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';

/** JSON with sorted keys: the API server gives fields back in its own order. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Without what probes and counters say, which changes all the time. */
export function withoutMeasures({ paths, ...status }: RemoteClusterStatus): RemoteClusterStatus {
  return { ...status, paths: (paths ?? []).map((path) => ({ ...path, rttMs: 0, lossPercent: 0, flaps: 0 })) };
}
