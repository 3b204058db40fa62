import { matchesSelector } from '../../../lib/api/label-selector.ts';
import type { ClusterRule } from '../../../lib/policies/policy.ts';
import { ruleInForce, type RuleInForce } from '../../../lib/policies/rule-in-force.ts';
import { externalAddresses } from '../../model/node-traits.ts';
import type { Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { networkOwner } from '../../settle/node/network-owner.ts';
import { servedAddresses } from '../../settle/node/traits.ts';

/** The addresses of a node that no other node and no network of pods has: a node reports what it likes. */
function addressesOf(view: View, node: Node): readonly string[] {
  const external = externalAddresses(node).filter((address) => networkOwner(view, address) === undefined);
  return [...servedAddresses(view, node), ...external];
}

function nodeAddresses(view: View, { nodes }: ClusterRule): readonly string[] {
  if (nodes.length === 0) return [];
  const selected = [...view.nodes.values()].filter(({ labels }) => nodes.some((one) => matchesSelector(one, labels)));
  return selected.flatMap((node) => addressesOf(view, node));
}

/** A rule as it is in force. */
export function inForce(view: View, rule: ClusterRule): RuleInForce {
  return ruleInForce(rule, nodeAddresses(view, rule), view.policies);
}
