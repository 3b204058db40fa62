/** Which groups a port is in, planned with the port and written in the same transaction. */
import { annotation, defaultVpc } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { ref } from '../../../lib/desired/row.ts';
import type { Contribution } from '../../../lib/desired/row.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { annotationOf, askedOf, listOf } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { Pod } from '../../model/objects.ts';
import { securityPortGroup } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { throughEmptyTiers } from '../acl-tier/empty-tiers.ts';
import { denyAllGroup, memberSet } from './names.ts';
import { isServedGroup } from './security-group.ts';

/** Named in external_ids of ports outside the default VPC, as Kube-OVN's tools expect. */
const defaultGroup = 'default-securitygroup';

/** Whether an interface is to be guarded: a list that names nobody is no leave to talk to everybody. */
export function isGuarded(pod: Pod, network: Interface): boolean {
  return askedOf(pod, network, annotation.securityGroups).trim() !== '';
}

/** Groups that a pod names for an interface, each once, in order. */
export function namedGroups(pod: Pod, network: Interface): readonly string[] {
  return [...new Set(listOf(askedOf(pod, network, annotation.securityGroups)))].sort();
}

/** A group that is named and not there; the port is closed to what it would allow. */
export function groupProblem(view: View, pod: Pod, network: Interface): Problem | undefined {
  const name = namedGroups(pod, network).find((group) => !isServedGroup(view, group));
  if (name === undefined) return undefined;
  const message = `annotation ${annotationOf(network, annotation.securityGroups)}: security group ${name} does not exist or is refused, and nothing is allowed on its behalf: create or mend it`;
  return { code: 'SecurityGroupNotFound', message };
}

/** Memberships of a guarded port: with its groups goes the one that drops what none of them allows. */
export function groupMemberships(
  view: View,
  named: readonly string[],
  { port, addresses }: { readonly port: string; readonly addresses: readonly Ip[] },
): readonly Contribution[] {
  const member = [ref('Logical_Switch_Port', port)];
  const into = (key: string): Contribution => ({
    table: 'Port_Group',
    key,
    column: 'ports',
    values: member,
    required: true,
  });
  const served = named.filter((name) => isServedGroup(view, name));
  return [
    into(denyAllGroup),
    ...throughEmptyTiers(view, port),
    ...served.flatMap((name): Contribution[] => [into(securityPortGroup(name)), ...addressesIn(name, addresses)]),
  ];
}

function addressesIn(name: string, addresses: readonly Ip[]): readonly Contribution[] {
  return ([4, 6] as const).flatMap((family): Contribution[] => {
    const values = addresses.filter((ip) => ip.family === family).map(formatIp);
    const key = memberSet(name, family);
    return values.length === 0 ? [] : [{ table: 'Address_Set', key, column: 'addresses', values, required: true }];
  });
}

/** What a port's external_ids say of its groups. */
export function groupIds(view: View, named: readonly string[], vpc: string): Readonly<Record<string, string>> {
  const ids: Record<string, string> = named.length === 0 ? {} : { security_groups: named.join('/') };
  for (const name of named) if (isServedGroup(view, name)) ids[`associated_sg_${name}`] = 'true';
  if (vpc !== defaultVpc && !named.includes(defaultGroup)) ids[`associated_sg_${defaultGroup}`] = 'false';
  return ids;
}
