/**
 * The rows of NetworkPolicies. In: policies in force, pods, Namespaces. Out: for each policy, VPC and direction a port group with the rules (`rule.ts`);
 * for each peer a set of its pods' addresses, which all policies share (`peer.ts`); for each direction one port group that drops what no rule allows
 * (`isolation.ts`); and the memberships of ports (`membership.ts`), which are planned with the port. Rule: a port that a policy selects is in the dropping
 * group in the transaction in which it gets the policy's rules.
 */
import { annotation } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { NetworkPolicy } from '../../model/objects.ts';
import { namedKeys, policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';
import { aclRow } from '../acl-tier/port-group-acl.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import { blockNetworks, hasTooManyNetworks } from './block.ts';
import { blockSet, namedPortGroup, policyGroup } from './names.ts';
import { policyAclOf } from './policy-acl.ts';
import { ruleMatches } from './rule.ts';

const families = [4, 6] as const;

function blockRows(name: string, policy: NetworkPolicy, direction: PolicyDirection, ids: Ids): readonly DesiredRow[] {
  return (policy[direction] ?? []).flatMap(({ peers }, index) =>
    families.flatMap((family): readonly DesiredRow[] => {
      const addresses = blockNetworks(peers?.blocks, family);
      if (addresses.length === 0) return [];
      return [
        {
          table: 'Address_Set',
          key: blockSet(name, direction, index, family),
          columns: { addresses, external_ids: ids },
        },
      ];
    }),
  );
}

type Ids = Readonly<Record<string, string>>;

function groupRow(key: string, ids: Ids): DesiredRow {
  return { table: 'Port_Group', key, columns: { external_ids: ids }, collects: ['ports'] };
}

/** The rows of a policy for the ports of one VPC. */
function vpcRows(view: View, name: string, policy: NetworkPolicy, vpc: string, ids: Ids): readonly DesiredRow[] {
  return policyDirections.flatMap((direction): readonly DesiredRow[] => {
    const rules = policy[direction];
    if (rules === undefined) return [];
    const group = policyGroup(name, direction, vpc);
    const named = direction === 'ingress' ? rules.flatMap((rule) => namedKeys(rule, policy.namespace)) : [];
    const matches = rules.flatMap((rule, index) => ruleMatches({ view, name, policy, direction, vpc, index }, rule));
    return [
      groupRow(group, ids),
      ...[...new Set(named)].flatMap((key) =>
        view.policies.numbers(key).map((number) => groupRow(namedPortGroup(name, vpc, key, number), ids)),
      ),
      // Two rules may say the same.
      ...[...new Map(matches.map((one) => [one.match, one])).values()].map(({ group: parent, match }) =>
        aclRow(parent, policyAclOf(view.capabilities, direction, 'allow', match)),
      ),
    ];
  });
}

function planPolicy(view: View, name: string): Desired {
  const policy = view.policies.inForce.get(name);
  if (policy === undefined) return nothing;
  const vpcs = view.policies.vpcs(policy.namespace);
  if (vpcs.length === 0) return nothing;
  const ids = { ...vendorIds, type: 'network_policy', np: name };
  return {
    rows: [
      ...policyDirections.flatMap((direction) => blockRows(name, policy, direction, ids)),
      ...vpcs.flatMap((vpc) => vpcRows(view, name, policy, vpc, ids)),
    ],
  };
}

/** What of a policy has no effect; the rest of it is in force. */
function policyProblem(view: View, policy: NetworkPolicy, refused: Problem | undefined): Problem | undefined {
  if (refused !== undefined) return refused;
  const { namespace, unsupported } = policy;
  for (const direction of policyDirections)
    for (const [index, rule] of (policy[direction] ?? []).entries()) {
      const field = `spec.${direction}[${index}]`;
      if (hasTooManyNetworks(rule.peers?.blocks))
        return {
          code: 'TooManyNetworks',
          message: `${field}: its ipBlocks have too many exceptions or networks, and allow nothing: at most 256 exceptions each, and 10000 networks after the exceptions are subtracted`,
        };
      const keys = namedKeys(rule, direction === 'ingress' ? namespace : undefined);
      const key = keys.find((one) => view.policies.hasMoreNumbers(one));
      if (key !== undefined)
        return {
          code: 'TooManyNumbers',
          message: `${field}: pods give port ${key.slice(key.lastIndexOf('/') + 1)} too many numbers; the rule contains the lowest 64`,
        };
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
  const problem = policyProblem(view, policy, refusalOf(outcome));
  const message = problem && `${problem.code}: ${problem.message}`;
  const isKnown = message === policy.annotations[annotation.problem];
  return [
    {
      object,
      annotations: { [annotation.problem]: message ?? null },
      events:
        problem === undefined ? [] : [{ type: 'Warning', reason: problem.code, message: problem.message, isKnown }],
    },
  ];
}

/** Keys: `namespace/name`. */
export const networkPolicyFeature: Feature = {
  name: 'network-policy',
  all: (view) => new Set([...view.networkPolicies.keys(), ...view.policies.inForce.keys()]),
  *reads(change, view) {
    if (change.kind === 'policies' || change.kind === 'networkPolicies') yield change.name;
    else if (change.kind === 'policyVpcs') yield* view.policies.ofNamespace(change.name);
    else if (change.kind === 'namedPorts') yield* view.policies.ofNamedPort(change.name);
  },
  plan: planPolicy,
  report: reportPolicy,
};
