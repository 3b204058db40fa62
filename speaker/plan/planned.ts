import type { Condition } from '../../lib/api/kinds/shared.ts';

/** A condition without its times. */
export type PlannedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

export interface PlannedStatus<Entry, Summary> {
  /** This node's entry; undefined if it has none. */
  readonly entry: Entry | undefined;
  /** Nodes whose entries have no owner any more: deleted, or no longer selected. */
  readonly leftOver: readonly string[];
  readonly summary: Summary;
  readonly conditions: readonly PlannedCondition[];
}

/** The entries of all nodes, with this node's own entry replaced. */
export function withOwn<Entry extends { readonly node: string }>(
  entries: readonly Entry[],
  node: string,
  own: Entry | undefined,
): readonly Entry[] {
  return [...entries.filter((entry) => entry.node !== node), ...(own ? [own] : [])].toSorted((a, b) =>
    a.node < b.node ? -1 : 1,
  );
}
