/**
 * Facts about this cluster's part between clusters in its databases; read on demand, because most rounds need few of
 * them.
 */
import type { PathFacts } from './anchors.ts';
import type { Gateway, HeldPort } from './messages.ts';

export interface DatabaseFacts {
  /** Paths that the hub granted and, until it has answered, those that were there before. */
  pathsOf(network: string): readonly PathFacts[];
  /** Ports that this cluster holds on a network, so that a hub that lost them can restore them. */
  portsHeldOn(network: string): readonly HeldPort[];
  /** Chassis that are first in the order of some port. */
  firstChassis(): ReadonlySet<string>;
  /** Chassis that show the last gateway of a port that it is not cut off. */
  witnessesOf(logicalSwitch: string): ReadonlySet<string>;
  /** Whether northd has a chassis in some group. */
  isGrouped(chassis: string): boolean;
  /** Addresses of next hops that carried traffic when this process first looked, by handle of the cluster. */
  carriedAtStart(): ReadonlyMap<string, ReadonlySet<string>>;
  /** Prefixes that had routes to other clusters when this process first looked, by handle. */
  routedAtStart(): ReadonlyMap<string, ReadonlySet<string>>;
  /** Chassis of other clusters when this process first looked, by handle. */
  gatewaysAtStart(): ReadonlyMap<string, readonly Gateway[]>;
}
