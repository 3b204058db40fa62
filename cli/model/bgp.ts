/** BGP in one cluster, read once: what decides about announcements, and what the speakers say of themselves. */
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import type { BgpState } from '../../lib/bgp/objects.ts';

export interface BgpReading {
  /** Name of the context. */
  readonly label: string;
  /** Its `node` is nobody's; whoever asks for a node puts its name there. */
  readonly state: BgpState;
  /** What each node's speaker wrote last, by node. */
  readonly nodeStates: ReadonlyMap<string, BgpNodeStateStatus>;
  /** What each node learned, by node. */
  readonly learned: ReadonlyMap<string, readonly BgpRoute[]>;
}

/** Only sessions of this node or this peer. */
export interface SessionFilter {
  readonly node: string | undefined;
  readonly peer: string | undefined;
}
