/** Prefixes that this cluster's routers lead to, as its speakers published them: immutable values, made by `watch/`. */

/** A prefix that nodes learned and that is a route of a VPC. */
export interface Edge {
  /** Sorted; those that can forward. */
  readonly nodes: readonly string[];
  /** Sorted; those that import policies gave it on any of them. */
  readonly tags: readonly string[];
}

/** By VPC, then by prefix in canonical text, both in their order. */
export type Edges = ReadonlyMap<string, ReadonlyMap<string, Edge>>;

export const noEdges: Edges = new Map();
