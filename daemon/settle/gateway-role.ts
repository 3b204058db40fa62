/** Whether this node is a gateway between clusters. Pure. */
import { matchesSelector } from '../../lib/api/label-selector.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';

export interface RoleInput {
  readonly labels: Readonly<Record<string, string>>;
  /** Selectors of the cluster's Interconnects; none if the cluster is not a member, or has left. */
  readonly selectors: readonly LabelSelector[];
  /** Whether the node has an InterconnectGateway; the agent deletes it once the last path has left the node. */
  readonly hasObject: boolean;
}

/**
 * A node that is selected has the role. A node that is no longer selected keeps it until its paths have moved, because its tunnels
 * disappear with the role.
 */
export function isGateway({ labels, selectors, hasObject }: RoleInput): boolean {
  return hasObject || selectors.some((selector) => matchesSelector(selector, labels));
}
