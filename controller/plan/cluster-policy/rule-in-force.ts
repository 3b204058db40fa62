import { matchesSelector } from '../../../lib/api/label-selector.ts';
import { everything } from '../../../lib/policies/parse-cluster.ts';
import type { BlockPeer, ClusterRule } from '../../../lib/policies/policy.ts';
import { namedKeys } from '../../../lib/policies/selection.ts';
import { externalAddresses } from '../../model/node-traits.ts';
import type { Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { networkOwner } from '../../settle/node/network-owner.ts';
import { servedAddresses } from '../../settle/node/traits.ts';
import { hasTooManyNetworks } from '../network-policy/block.ts';

/** The addresses of a node that no other node and no network of pods has: a node reports what it likes. */
function addressesOf(view: View, node: Node): readonly string[] {
  const external = externalAddresses(node).filter((address) => networkOwner(view, address) === undefined);
  return [...servedAddresses(view, node), ...external];
}

function nodeBlocks(view: View, { nodes }: ClusterRule): readonly BlockPeer[] {
  if (nodes.length === 0) return [];
  const selected = [...view.nodes.values()].filter(({ labels }) => nodes.some((one) => matchesSelector(one, labels)));
  return [...new Set(selected.flatMap((node) => addressesOf(view, node)))]
    .sort()
    .map((address) => ({ cidr: `${address}/${address.includes(':') ? 128 : 32}`, except: [] }));
}

export interface RuleInForce extends ClusterRule {
  /** Whether a rule contains fewer networks than it should. */
  readonly isTooManyNetworks: boolean;
}

/**
 * A rule as it is in force: the addresses of its nodes are networks. Where a limit keeps a part of a rule that does not accept out, the rule denies more
 * than that part, since the traffic of the part must not pass.
 */
export function ruleInForce(view: View, rule: ClusterRule): RuleInForce {
  const { pods, domains = [] } = rule.peers;
  const ofNodes = nodeBlocks(view, rule);
  const blocks = ofNodes.length === 0 ? rule.peers.blocks : [...rule.peers.blocks, ...ofNodes];
  const isTooManyNetworks = hasTooManyNetworks(blocks);
  const isShort = namedKeys(rule, undefined).some((key) => view.policies.hasMoreNumbers(key));
  if (rule.action === 'Accept' || (!isTooManyNetworks && !isShort))
    return { ...rule, peers: { pods, blocks, domains }, isTooManyNetworks };
  return {
    ...rule,
    action: 'Deny',
    peers: { pods, blocks: isTooManyNetworks ? everything : blocks },
    ports: isShort ? undefined : rule.ports,
    isTooManyNetworks,
  };
}
