/** A Node that may serve. */
export interface Candidate {
  readonly name: string;
  readonly createdMs: number;
  /** Undefined if the node is Ready. */
  readonly notReadySinceMs: number | undefined;
}
