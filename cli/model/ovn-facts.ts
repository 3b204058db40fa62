/** The state of the cluster's OVN databases, if the command was given their sockets. */
import type { Problem } from '../../lib/desired/problem.ts';

export interface ChassisFacts {
  readonly name: string;
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly isRemote: boolean;
  /** `ovn-is-interconn` of its Open vSwitch. */
  readonly isInterconnect: boolean;
  /** Whether its ovn-controller processed the newest state within the timeout; undefined if that was not checked. */
  readonly isCurrent: boolean | undefined;
}

export interface OwnedRow {
  readonly database: 'NB' | 'SB';
  readonly table: string;
  /** `interconnect/<feature>/<key>`. */
  readonly owner: string;
}

export interface OvnFacts {
  /** Databases that did not answer, by name. */
  readonly silent: readonly Problem[];
  /** Whether northd processed the newest state within the timeout; undefined if that could not be checked. */
  readonly isNorthdCurrent: boolean | undefined;
  readonly chassis: readonly ChassisFacts[];
  /** Chassis that holds each redirect port, by port name; empty if no chassis does. */
  readonly holders: ReadonlyMap<string, string>;
  readonly interconnectRows: readonly OwnedRow[];
}
