/**
 * The rows of NetworkPolicies. In: policies in force, pods, Namespaces. Out: for each selection, VPC and direction a port group (`selection.ts`) with the rules of the policies that select
 * the same (`rule-rows.ts`); for each peer a set of its pods' addresses, which all policies share (`peer.ts`); for each direction one port group that drops what no rule allows
 * (`isolation.ts`); and the memberships of ports (`membership.ts`), which are planned with the port. Rule: a port that a policy selects is in the dropping
 * group in the transaction in which it gets the policy's rules.
 */
import { annotation, label } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import { hasTooManyNetworks, tooManyNetworks } from '../../../lib/policies/block.ts';
import { tooManyNumbers } from '../../../lib/policies/numbers.ts';
import { isClusterPolicy } from '../../../lib/policies/policy.ts';
import { isClusterKey, type NetworkPolicy } from '../../model/objects.ts';
import { destinationsOf, namesClusters, policyDirections, selectionOf } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import { idlePart } from './idle.ts';
import { policyAclOf } from './policy-acl.ts';
import { remotePart, remotePoliciesRead } from './remote-peer.ts';
import { ruleRows, ruleRowsRead } from './rule-rows.ts';
import { togetherText } from './selection.ts';

function planPolicy(view: View, name: string): Desired {
  const policy = view.policies.inForce.get(name);
  if (policy === undefined || isClusterPolicy(policy)) return nothing;
  const { namespace, ingress, egress } = policy;
  const rows = ruleRows(view, {
    name,
    selection: selectionOf(policy) ?? '',
    namespace,
    rules: { ingress, egress },
    ids: { ...vendorIds, type: 'network_policy', np: name },
    aclOf: (direction, _, match) => policyAclOf(view.capabilities, direction, 'allow', match),
  });
  return rows.length === 0 ? nothing : { rows, together: togetherText(policy) };
}

/** What of a policy has no effect; the rest of it is in force. */
function policyProblem(view: View, policy: NetworkPolicy): Problem | undefined {
  const { unsupported } = policy;
  for (const direction of policyDirections)
    for (const [index, rule] of (policy[direction] ?? []).entries()) {
      const field = `spec.${direction}[${index}]`;
      if (hasTooManyNetworks(rule.peers?.blocks))
        return { code: 'TooManyNetworks', message: `${field}: ${tooManyNetworks}` };
      const numbers = tooManyNumbers(view.policies, rule, destinationsOf(policy, direction));
      if (numbers !== undefined) return { code: 'TooManyNumbers', message: `${field}: ${numbers}` };
      const isNamed = rule.ports?.some(({ port }) => typeof port === 'string') === true;
      if (direction === 'egress' && isNamed && rule.peers?.pods.some(namesClusters) === true) {
        const message = `${field}: other clusters do not send the named ports of their pods, so that these contain none of ${label.cluster}: use numbers`;
        return { code: 'NotSupported', message };
      }
    }
  if (unsupported.length === 0) return undefined;
  const list = unsupported.join(', ');
  return { code: 'NotSupported', message: `annotations without effect: ${list}; remove them. The policy is in force` };
}

/** NetworkPolicies have no status: an annotation says what is wrong. */
function reportPolicy(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const object = { kind: 'networkPolicies', name } as const;
  const policy = view.networkPolicies.get(name);
  if (policy === undefined || policy.isDeleting) return [{ object }];
  const obstacle = refusalOf(outcome) ?? policyProblem(view, policy);
  const problem = obstacle ?? remotePart(view, policy) ?? idlePart(view, name, policy);
  const type = obstacle === undefined ? 'Normal' : 'Warning';
  const message = problem && `${problem.code}: ${problem.message}`;
  const isKnown = message === policy.annotations[annotation.problem];
  return [
    {
      object,
      annotations: { [annotation.problem]: message ?? null },
      events: problem === undefined ? [] : [{ type, reason: problem.code, message: problem.message, isKnown }],
    },
  ];
}

/** Keys: `namespace/name`. */
export const networkPolicyFeature: Feature = {
  name: 'network-policy',
  all: (view) =>
    new Set([
      ...view.networkPolicies.keys(),
      ...[...view.policies.inForce.keys()].filter((name) => !isClusterKey(name)),
    ]),
  *reads(change, view) {
    if (change.kind === 'networkPolicies') yield change.name;
    else if (change.kind === 'policySelections') {
      if (!isClusterKey(change.name)) yield change.name;
    } else if (change.kind === 'remotePods') {
      for (const name of remotePoliciesRead(change, view)) if (!isClusterKey(name)) yield name;
    } else yield* ruleRowsRead(change, view, false);
  },
  plan: planPolicy,
  report: reportPolicy,
};
