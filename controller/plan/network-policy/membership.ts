/** The policies of a port and the peers that it is, planned with the port and written in the same transaction. */
import { defaultVpc } from '../../../lib/api/names.ts';
import { clusterGroup, isolationGroup, namedPortGroup, selectionGroup } from '../../../lib/policies/group-names.ts';
import { isClusterPolicy } from '../../../lib/policies/policy.ts';
import { ref } from '../../../lib/desired/row.ts';
import type { Contribution } from '../../../lib/desired/row.ts';
import {
  destinationsOf,
  ingressNamedKeys,
  namedPortKey,
  policyDirections,
  selectionOf,
  type PolicyDirection,
} from '../../../lib/policies/selection.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { Pod, Policy } from '../../model/objects.ts';
import { clusterNodePortGroup, nodePortGroup } from '../../model/ovn-names.ts';
import type { HeldPort, View } from '../../model/view.ts';
import { holds } from '../../settle/node/traits.ts';
import { throughEmptyTiers } from '../acl-tier/empty-tiers.ts';
import type { AddressTexts } from '../security-group/membership.ts';
import { peerSet } from './names.ts';

/** Whether a policy applies to an interface of a pod that it selects. */
function appliesTo(policy: Policy, { provider }: Interface): boolean {
  return isClusterPolicy(policy) || policy.providers === undefined || policy.providers.includes(provider);
}

/** The numbers that the pod gives named ports of ingress rules. */
function namedNumbers(
  { policies }: View,
  pod: Pod,
  policy: Policy,
): readonly { readonly key: string; readonly number: number }[] {
  const keys = ingressNamedKeys(policy);
  if (keys.size === 0) return [];
  return pod.namedPorts
    .map(({ name, protocol, number }) => ({
      key: namedPortKey(destinationsOf(policy, 'ingress'), protocol, name),
      number,
    }))
    .filter(({ key, number }) => keys.has(key) && policies.hasNumber(key, number));
}

function peerMemberships({ policies }: View, pod: Pod, vpc: string, addresses: AddressTexts): readonly Contribution[] {
  const memberships: Contribution[] = [];
  for (const peer of policies.peersOf(pod)) {
    if (!policies.isPeerIn(peer, vpc)) continue;
    const wanted = policies.namedPortsOfPeer(peer);
    const named = pod.namedPorts
      .map(({ name, protocol, number }) => ({ key: namedPortKey(undefined, protocol, name), number }))
      .filter(({ key, number }) => wanted.includes(key) && policies.hasNumber(key, number));
    for (const port of [undefined, ...named])
      for (const [family, values] of [
        [4, addresses.v4],
        [6, addresses.v6],
      ] as const)
        if (values.length > 0)
          memberships.push({
            table: 'Address_Set',
            key: peerSet(peer, vpc, family, port),
            column: 'addresses',
            values,
            required: true,
          });
  }
  return memberships;
}

/**
 * Memberships of a port: the groups of the policies that select it, those that drop what no NetworkPolicy allows, and those of what always passes. A pod is closed while
 * policies of the whole cluster may select it and its Namespace is not known.
 */
export function policyMemberships(
  view: View,
  pod: Pod,
  { port, interface: network, allocation }: HeldPort,
  addresses: AddressTexts,
): readonly Contribution[] {
  const vpc = view.verdicts.get(allocation.subnet)?.vpc;
  // Without its policies, it is known that they isolated the port, but not what they allowed.
  const before = policyDirections.filter((direction) => view.policies.wasIsolated(pod, port, direction));
  if (vpc === undefined || (view.policies.inForce.size === 0 && before.length === 0)) return [];
  const member = [ref('Logical_Switch_Port', port)];
  const into = (key: string, required = true): Contribution => ({
    table: 'Port_Group',
    key,
    column: 'ports',
    values: member,
    ...(required && { required }),
  });
  if (view.policies.isUnknown(pod))
    return [...policyDirections.map((direction) => into(isolationGroup(direction))), ...throughEmptyTiers(view, port)];
  const selected = new Set<string>();
  const groups = new Set(before.map(isolationGroup));
  const directions = new Set<PolicyDirection>(before);
  for (const name of view.policies.selecting(pod)) {
    const policy = view.policies.inForce.get(name);
    if (policy === undefined || !appliesTo(policy, network)) continue;
    const selection = selectionOf(policy);
    if (selection === undefined) continue;
    const groupOf = isClusterPolicy(policy) ? clusterGroup : isolationGroup;
    for (const direction of policyDirections) {
      if (policy[direction] === undefined) continue;
      directions.add(direction);
      groups.add(groupOf(direction));
      selected.add(selectionGroup(selection, direction, vpc));
    }
    for (const { key, number } of namedNumbers(view, pod, policy))
      selected.add(namedPortGroup(selection, vpc, key, number));
  }
  const memberships = [...selected, ...groups].map((group) => into(group));
  if (groups.size > 0) memberships.push(...throughEmptyTiers(view, port));
  if (directions.has('ingress')) {
    const { node = '' } = pod;
    const group = nodePortGroup(node);
    // The node of the pod reaches it, for probes. Other VPCs have no way to nodes, and may have their addresses.
    if (vpc === defaultVpc && holds(view, node, group)) {
      memberships.push(into(group, false));
      const isOfCluster = groups.has(clusterGroup('ingress')) && !view.capabilities.aclTier;
      if (isOfCluster) memberships.push(into(clusterNodePortGroup(node), false));
    }
  }
  return [...memberships, ...peerMemberships(view, pod, vpc, addresses)];
}
