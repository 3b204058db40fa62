/** The security groups of a port, planned with the port and written in the same transaction. */
import { annotation, defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { ref } from '../../../lib/desired/row.ts';
import type { Contribution } from '../../../lib/desired/row.ts';
import { annotationOf, annotationValue, listOf } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { Pod } from '../../model/objects.ts';
import type { ServedGroup } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { throughEmptyTiers } from '../acl-tier/empty-tiers.ts';
import { denyAllGroup } from './names.ts';

/** Named in external_ids of ports outside the default VPC, as Kube-OVN's tools expect. */
const defaultGroup = 'default-securitygroup';

/** Groups that a pod names for an interface, each once, in order, and those of them that have rows. */
export interface GroupsOfPort {
  /** Whether the annotation has any text: a list without names does not permit all traffic. */
  readonly isGuarded: boolean;
  readonly named: readonly string[];
  readonly served: readonly ServedGroup[];
}

export function groupsOf(view: View, pod: Pod, network: Interface): GroupsOfPort {
  const list = annotationValue(pod, network, annotation.securityGroups);
  if (list.trim() === '') return noGroups;
  const named = list.includes(',') ? [...new Set(listOf(list))].sort() : [list.trim()];
  const served: ServedGroup[] = [];
  for (const name of named) {
    const group = view.servedGroups.get(name);
    if (group !== undefined) served.push(group);
  }
  return { isGuarded: true, named, served };
}

const noGroups: GroupsOfPort = { isGuarded: false, named: [], served: [] };

/** The problem of a named group that does not exist. The port is closed to the traffic that the group would allow. */
export function groupProblem(view: View, pod: Pod, network: Interface): Problem | undefined {
  const name = groupsOf(view, pod, network).named.find((group) => !view.servedGroups.has(group));
  if (name === undefined) return undefined;
  const message = `annotation ${annotationOf(network, annotation.securityGroups)}: security group ${name} does not exist or is refused, and allows no traffic: create or correct it`;
  return { code: 'SecurityGroupNotFound', message };
}

/** The texts of a port's addresses, by family. */
export interface AddressTexts {
  readonly v4: readonly string[];
  readonly v6: readonly string[];
}

/** Memberships of a guarded port: its groups, and the group that drops traffic which none of them allows. */
export function groupMemberships(
  view: View,
  { isGuarded, served }: GroupsOfPort,
  { port, addresses }: { readonly port: string; readonly addresses: AddressTexts },
): readonly Contribution[] {
  if (!isGuarded) return [];
  const member = [ref('Logical_Switch_Port', port)];
  const into = (key: string): Contribution => ({
    table: 'Port_Group',
    key,
    column: 'ports',
    values: member,
    required: true,
  });
  const memberships = [into(denyAllGroup), ...throughEmptyTiers(view, port)];
  for (const { portGroup, memberSets } of served) {
    memberships.push(into(portGroup));
    if (addresses.v4.length > 0) memberships.push(addressesIn(memberSets.v4, addresses.v4));
    if (addresses.v6.length > 0) memberships.push(addressesIn(memberSets.v6, addresses.v6));
  }
  return memberships;
}

function addressesIn(key: string, values: readonly string[]): Contribution {
  return { table: 'Address_Set', key, column: 'addresses', values, required: true };
}

/** Adds the entries about a port's groups to its external_ids. */
export function addGroupIds(ids: Record<string, string>, { named, served }: GroupsOfPort, vpc: string): void {
  if (named.length > 0) ids['security_groups'] = named.join('/');
  for (const { memberId } of served) ids[memberId] = 'true';
  if (vpc !== defaultVpc && !named.includes(defaultGroup)) ids[`associated_sg_${defaultGroup}`] = 'false';
}
