/**
 * BGP in one cluster, read once: the objects that decide about announcements, and the statuses that speakers report.
 */
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import type { BgpState } from '../../lib/bgp/objects.ts';

export interface BgpReading {
  /** Name of the context. */
  readonly label: string;
  /** Its `node` is empty; a query about a node sets it. */
  readonly state: BgpState;
  /** The last status of each speaker, by node. */
  readonly nodeStates: ReadonlyMap<string, BgpNodeStateStatus>;
  /** Learned routes, by node. */
  readonly learned: ReadonlyMap<string, readonly BgpRoute[]>;
}

/** Limits results to sessions of this node or this peer. */
export interface SessionFilter {
  readonly node: string | undefined;
  readonly peer: string | undefined;
}
