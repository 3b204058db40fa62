import type { ObjectRef } from '../../lib/bgp/objects.ts';

/** What happened in the cluster since the last plan. */
export interface Changes {
  /** Whether something changed that all routes depend on: nodes, subnets, advertisements, instances, policies. */
  readonly isEverything: boolean;
  /** Objects whose own routes may have changed. */
  readonly objects: readonly ObjectRef[];
  /** When the first change was seen, by the monotonic clock; undefined: there was none. */
  readonly sinceMs?: number | undefined;
}
