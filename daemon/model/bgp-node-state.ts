/** Prefixes that the speaker of this node learned from routers, and the kernel routes for them. Addresses are checked. */
import type { Problem } from '../../lib/desired/problem.ts';

export interface LearnedEntry {
  /** `10.0.0.0/8` */
  readonly prefix: string;
  readonly nextHop: string;
  /** Interface of a link-local next hop; undefined if none is named. */
  readonly device: string | undefined;
  readonly preference: number;
}

/** The BgpNodeState of the node. */
export interface BgpNodeState {
  readonly name: string;
  readonly uid: string;
  readonly entries: readonly LearnedEntry[];
  /** Links whose routers wait for a router advertisement of this node. */
  readonly interfaces: readonly string[];
  /** Entries that cannot be read and are left out. */
  readonly problems: readonly Problem[];
}

export interface LearnedHop {
  readonly address: string;
  /** Interface of a link-local address. */
  readonly device: string | undefined;
}

/** A wanted route of the main table. */
export interface LearnedRoute {
  readonly destination: string;
  /** Next hops by preference, the best first; next hops of one choice share the load. */
  readonly choices: readonly (readonly LearnedHop[])[];
}
