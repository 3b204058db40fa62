/** The members of a hub as its cluster's objects have them. */
import type { HubMember } from './snapshot.ts';

export interface MeshReading {
  /** Name of the hub's cluster among the members, or of its context. */
  readonly label: string;
  readonly nowMs: number;
  /** Why sessions in the statuses may be out of date; undefined if the hub runs, or if its pods may not be read. */
  readonly hubProblem?: string | undefined;
  readonly members: readonly (HubMember & {
    readonly handle: string;
    readonly uid: string;
    readonly isDeleting: boolean;
  })[];
}
