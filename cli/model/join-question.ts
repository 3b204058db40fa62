/** What is known before a cluster joins: the cluster, the token, and a member or the hub's cluster where it can be read. */
import type { TokenClaims } from '../../lib/pki/join-token.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import type { HubProbe } from './hub-probe.ts';
import type { Snapshot } from './snapshot.ts';

export interface Surveyed {
  readonly snapshot: Snapshot;
  readonly facts: ClusterFacts;
  /** Newest renewal of a node's Lease, by the clocks of the nodes; undefined if there is none to read. */
  readonly heartbeatMs: number | undefined;
  /** When it was read, by the clock of this machine. */
  readonly readMs: number;
}

export interface JoinQuestion {
  readonly near: Surveyed;
  /** A member, or the cluster of the hub. */
  readonly far: Surveyed | undefined;
  readonly token: TokenClaims | undefined;
  /** Whether the hub's authority, where it can be read, signed the token. */
  readonly isSigned: boolean | undefined;
  readonly probe: HubProbe | undefined;
  /** `host:port`; undefined if neither the token nor the other cluster names it. */
  readonly hub: string | undefined;
  readonly nowMs: number;
}
