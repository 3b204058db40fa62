import type { ObjectRef } from '../../lib/bgp/objects.ts';

/** What happened in the cluster since the last plan. */
export interface Changes {
  /** Something that all routes depend on: nodes, subnets, advertisements, instances. */
  readonly isEverything: boolean;
  /** Objects whose own routes may be others now. */
  readonly objects: readonly ObjectRef[];
  /** When the first of it was seen, on the monotonic clock; undefined: nothing happened. */
  readonly sinceMs?: number | undefined;
}
