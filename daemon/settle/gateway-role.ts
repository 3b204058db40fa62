/** Whether a node is a gateway between clusters. Pure. */
import { matchesSelector } from '../../lib/api/label-selector.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';

export interface RoleInput {
  readonly labels: Readonly<Record<string, string>>;
  /** Of the cluster's Interconnects; none where the cluster is no member, or has left. */
  readonly selectors: readonly LabelSelector[];
  /** Whether the node has an InterconnectGateway: the agent keeps it until no path is left on the node. */
  readonly hasObject: boolean;
}

/** Selected nodes are; one that is selected no more stays it until its paths have moved, since its tunnels go with the role. */
export function isGateway({ labels, selectors, hasObject }: RoleInput): boolean {
  return hasObject || selectors.some((selector) => matchesSelector(selector, labels));
}
