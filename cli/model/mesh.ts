/** The members of a hub as its cluster's objects have them. */
import type { HubMember } from './snapshot.ts';

export interface MeshReading {
  /** Name of the hub's cluster among the members, or of its context. */
  readonly label: string;
  readonly nowMs: number;
  readonly members: readonly (HubMember & {
    readonly handle: string;
    readonly uid: string;
    readonly isDeleting: boolean;
  })[];
}
