/** What the speaker of this node learned from routers, and where it looks for some: made by watch/, read by plan/. Addresses in here are checked. */
import type { Problem } from '../../lib/desired/problem.ts';

export interface LearnedEntry {
  /** `10.0.0.0/8` */
  readonly prefix: string;
  readonly nextHop: string;
  /** The interface of a link-local next hop; undefined where none is named. */
  readonly device: string | undefined;
  readonly preference: number;
}

/** The BgpNodeState of the node. */
export interface LearnedFacts {
  readonly name: string;
  readonly uid: string;
  readonly entries: readonly LearnedEntry[];
  /** Links whose routers wait to hear of this node. */
  readonly interfaces: readonly string[];
  /** Entries that cannot be read, and are left out. */
  readonly problems: readonly Problem[];
}
