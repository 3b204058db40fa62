import type { ObjectRef } from '../../lib/bgp/objects.ts';

/** Changes in the cluster since the last plan. */
export interface Changes {
  /** Whether something changed that all routes depend on: nodes, subnets, advertisements, instances, policies. */
  readonly isEverything: boolean;
  /** Objects whose own routes may have changed. */
  readonly objects: readonly ObjectRef[];
  /** Monotonic time of the first change; undefined if there was none. */
  readonly sinceMs?: number | undefined;
}
