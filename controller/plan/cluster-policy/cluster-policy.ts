/**
 * The rows of policies of the whole cluster. In: ClusterNetworkPolicies, AdminNetworkPolicies and BaselineAdminNetworkPolicies in force, and their order. Out:
 * the rows of their rules, as those of NetworkPolicies, and what every pod that they select may do (`exemptions.ts`). Rule: the first rule that a packet
 * satisfies decides. Those of the tier Admin are before NetworkPolicies, and those of the tier Baseline below them: the drop of a NetworkPolicy hides them.
 */
import type { BlockPeer, ClusterRule, PolicyRule } from '../../../lib/policies/policy.ts';
import { isClusterPolicy } from '../../../lib/policies/policy.ts';
import { matchesSelector } from '../../../lib/api/label-selector.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import type { Change } from '../../model/change.ts';
import { allNodeAddresses } from '../../model/node-traits.ts';
import { clusterPolicyKey, clusterPolicyStores, type ClusterPolicy, type Node } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { ruleRows, ruleRowsRead } from '../network-policy/rule-rows.ts';
import { clusterAcl } from './acl.ts';
import { reportClusterPolicy } from './report.ts';

/** The addresses of nodes as networks, which a rule names like any other. */
function nodeBlocks(view: View, { nodes }: ClusterRule): readonly BlockPeer[] {
  if (nodes.length === 0) return [];
  const selected = [...view.nodes.values()].filter(({ labels }) => nodes.some((one) => matchesSelector(one, labels)));
  return [...new Set(selected.flatMap(allNodeAddresses))]
    .sort()
    .map((address) => ({ cidr: `${address}/${address.includes(':') ? 128 : 32}`, except: [] }));
}

function withNodes(view: View, rules: readonly ClusterRule[] | undefined): readonly PolicyRule[] | undefined {
  return rules?.map((rule) => {
    const blocks = nodeBlocks(view, rule);
    const { peers } = rule;
    return blocks.length === 0
      ? rule
      : { ports: rule.ports, peers: { pods: peers.pods, blocks: [...peers.blocks, ...blocks] } };
  });
}

function policyOf(view: View, name: string): ClusterPolicy | undefined {
  const policy = view.policies.inForce.get(name);
  return policy !== undefined && isClusterPolicy(policy) ? policy : undefined;
}

function planClusterPolicy(view: View, name: string): Desired {
  const policy = policyOf(view, name);
  const place = view.policies.place(name);
  if (policy === undefined || place === undefined) return nothing;
  const rows = ruleRows(view, {
    name,
    namespace: undefined,
    rules: { ingress: withNodes(view, policy.ingress), egress: withNodes(view, policy.egress) },
    ids: { ...vendorIds, type: 'network_policy', np: name },
    aclOf: (direction, rule, match) => clusterAcl(view.capabilities, { policy, place, direction, rule }, match),
  });
  return { rows };
}

function nodeText(node: Node | undefined): string {
  return node === undefined ? '' : JSON.stringify([node.labels, allNodeAddresses(node)]);
}

function* reads(change: Change, view: View): Generator<string> {
  const { kind, name } = change;
  for (const store of clusterPolicyStores) if (kind === store) yield clusterPolicyKey(store, name);
  if (kind === 'policyPlaces') yield name;
  else if (kind === 'nodes') {
    if (nodeText(change.before) !== nodeText(change.after)) yield* view.policies.ofNodes();
  } else yield* ruleRowsRead(change, view, true);
}

/** Keys: `Kind/name`. */
export const clusterPolicyFeature: Feature = {
  name: 'cluster-policy',
  all: (view) =>
    clusterPolicyStores.flatMap((store) => [...view[store].keys()].map((name) => clusterPolicyKey(store, name))),
  reads,
  plan: planClusterPolicy,
  report: reportClusterPolicy,
};
