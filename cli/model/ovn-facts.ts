/** What the cluster's own OVN databases say, where the command was given their sockets. */
import type { Problem } from '../../lib/desired/problem.ts';

export interface ChassisFacts {
  readonly name: string;
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly isRemote: boolean;
  /** `ovn-is-interconn` of its Open vSwitch. */
  readonly isInterconnect: boolean;
  /** Whether its ovn-controller took up the newest state within the time given; undefined where that was not asked. */
  readonly isCurrent: boolean | undefined;
}

export interface OwnedRow {
  readonly database: 'NB' | 'SB';
  readonly table: string;
  /** `interconnect/<feature>/<key>`. */
  readonly owner: string;
}

export interface OvnFacts {
  /** A database that did not answer, by name. */
  readonly silent: readonly Problem[];
  /** Whether northd took up the newest state within the time given; undefined where that could not be asked. */
  readonly isNorthdCurrent: boolean | undefined;
  readonly chassis: readonly ChassisFacts[];
  /** Chassis that holds each redirect port, by port name; empty where none does. */
  readonly holders: ReadonlyMap<string, string>;
  readonly interconnectRows: readonly OwnedRow[];
}
