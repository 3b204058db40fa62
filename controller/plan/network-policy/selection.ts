/**
 * The port groups of what policies select. In: policies in force, the VPCs of the ports in their namespaces, and the numbers of named ports. Out: a group for each VPC and direction,
 * and one for each number of a named port of ingress rules. Policies that select the same pods share them, so that a port is in as many groups as there are
 * selections. Pods contribute their ports (`membership.ts`), and each policy its ACLs (`rule-rows.ts`). Rule: a port that is in a group is isolated in its direction.
 */
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { namedPortGroup, selectionGroup } from '../../../lib/policies/group-names.ts';
import { isClusterPolicy } from '../../../lib/policies/policy.ts';
import { ingressNamedKeys, policyDirections, selectionOf } from '../../../lib/policies/selection.ts';
import type { Change } from '../../model/change.ts';
import type { Policy } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import { portGroupRow } from '../acl-tier/port-group-acl.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { clusterPolicies } from './names.ts';

/** The policies that select the same, and their groups, belong together: a policy takes its rules from one group to another in one transaction. */
export function togetherText(policy: Policy): string {
  return isClusterPolicy(policy) ? clusterPolicies : `selection ${selectionOf(policy) ?? ''}`;
}

function planSelection({ policies }: View, selection: string): Desired {
  const selecting = [...policies.ofSelection(selection)].flatMap((name) => {
    const policy = policies.inForce.get(name);
    return policy === undefined ? [] : [{ name, policy }];
  });
  const [first] = selecting;
  if (first === undefined) return nothing;
  const vpcs = [...new Set(selecting.flatMap(({ name }) => policies.vpcs(name)))].sort();
  const directions = policyDirections.filter((direction) =>
    selecting.some(({ policy }) => policy[direction] !== undefined),
  );
  const named = [...new Set(selecting.flatMap(({ policy }) => [...ingressNamedKeys(policy)]))].sort();
  const rows = vpcs.flatMap((vpc) => {
    const group = (key: string): DesiredRow => portGroupRow(key, { ...vendorIds, type: 'network_policy', vpc });
    return [
      ...directions.map((direction) => group(selectionGroup(selection, direction, vpc))),
      ...named.flatMap((key) =>
        policies.numbers(key).map((number) => group(namedPortGroup(selection, vpc, key, number))),
      ),
    ];
  });
  return { rows, together: togetherText(first.policy) };
}

function* selectionsRead(change: Change, { policies }: View): Generator<string> {
  const ofPolicy = (policy: Policy | undefined): readonly string[] => {
    const selection = policy && selectionOf(policy);
    return selection === undefined ? [] : [selection];
  };
  if (change.kind === 'policies') {
    for (const policy of [change.before, change.after]) yield* ofPolicy(policy);
  } else if (change.kind === 'policyVpcs') yield* ofPolicy(policies.inForce.get(change.name));
  else if (change.kind === 'namedPorts')
    for (const name of policies.ofNamedPort(change.name)) yield* ofPolicy(policies.inForce.get(name));
}

/** Keys: what `selectionOf` returns. */
export const selectionFeature: Feature = {
  name: 'selection',
  all: (view) => view.policies.selections(),
  reads: selectionsRead,
  plan: planSelection,
};
