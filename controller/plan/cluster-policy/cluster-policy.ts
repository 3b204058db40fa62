/**
 * The rows of policies of the whole cluster. In: ClusterNetworkPolicies, AdminNetworkPolicies and BaselineAdminNetworkPolicies in force, and their order. Out:
 * the rows of their rules, as those of NetworkPolicies, and what every pod that they select may do (`exemptions.ts`). Rule: the first rule that a packet
 * satisfies decides. Those of the tier Admin are before NetworkPolicies, and those of the tier Baseline below them: the drop of a NetworkPolicy hides them. A change of
 * one policy moves the rules of others, and sets of addresses: all of it is one transaction.
 */
import { isClusterPolicy } from '../../../lib/policies/policy.ts';
import type { RuleInForce } from '../../../lib/policies/rule-in-force.ts';
import { selectionOf, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import type { Change } from '../../model/change.ts';
import {
  clusterPolicyKey,
  clusterPolicyStores,
  isClusterKey,
  type ClusterPolicy,
  type Node,
} from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { clusterPolicies } from '../network-policy/names.ts';
import { remotePoliciesRead } from '../network-policy/remote-peer.ts';
import { ruleRows, ruleRowsRead } from '../network-policy/rule-rows.ts';
import { clusterAcl } from './acl.ts';
import { reportClusterPolicy } from './report.ts';
import { inForce } from './rule-in-force.ts';

function policyOf(view: View, name: string): ClusterPolicy | undefined {
  const policy = view.policies.inForce.get(name);
  return policy !== undefined && isClusterPolicy(policy) ? policy : undefined;
}

function planClusterPolicy(view: View, name: string): Desired {
  const policy = policyOf(view, name);
  const place = view.policies.place(name);
  if (policy === undefined || place === undefined) return nothing;
  const rulesOf = (direction: PolicyDirection): readonly RuleInForce[] | undefined =>
    policy[direction]?.map((rule) => inForce(view, rule));
  const rules = { ingress: rulesOf('ingress'), egress: rulesOf('egress') };
  const rows = ruleRows(view, {
    name,
    selection: selectionOf(policy) ?? '',
    namespace: undefined,
    rules,
    ids: { ...vendorIds, type: 'network_policy', np: name },
    aclOf(direction, rule, match) {
      const action = rules[direction]?.[rule]?.action ?? 'Deny';
      return clusterAcl(view.capabilities, { policy, place, direction, rule }, action, match);
    },
  });
  return rows.length === 0 ? nothing : { rows, together: clusterPolicies };
}

function nodeText(node: Node | undefined): string {
  return node === undefined ? '' : JSON.stringify([node.labels, node.addresses, node.externalAddresses]);
}

function* reads(change: Change, view: View): Generator<string> {
  const { kind, name } = change;
  for (const store of clusterPolicyStores) if (kind === store) yield clusterPolicyKey(store, name);
  if (kind === 'policyPlaces') yield name;
  else if (kind === 'domainProblems') yield* view.policies.ofDomain(name);
  else if (kind === 'policySelections') {
    if (isClusterKey(name)) yield name;
  } else if (kind === 'remotePods') {
    for (const policy of remotePoliciesRead(change, view)) if (isClusterKey(policy)) yield policy;
  } else if (kind === 'nodes') {
    if (nodeText(change.before) !== nodeText(change.after)) yield* view.policies.ofNodes();
  } else if (kind === 'verdicts') yield* view.policies.ofNodes();
  else yield* ruleRowsRead(change, view, true);
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
