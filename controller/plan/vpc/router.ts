import { defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Change } from '../../model/change.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Subnet, Vpc } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** All VPCs that have, or should have, a router. */
export function routers(view: View): ReadonlySet<string> {
  const names = new Set([defaultVpc, ...view.vpcs.keys()]);
  for (const { vpc } of view.verdicts.values()) names.add(vpc);
  return names;
}

function isSameVpc(before: Vpc | undefined, after: Vpc | undefined): boolean {
  const fingerprint = (vpc: Vpc | undefined): unknown =>
    vpc && [vpc.uid, vpc.createdMs, vpc.isDeleting, vpc.unsupported, vpc.spec];
  return JSON.stringify(fingerprint(before)) === JSON.stringify(fingerprint(after));
}

function isSameSubnet(before: Subnet | undefined, after: Subnet | undefined): boolean {
  const fingerprint = (subnet: Subnet | undefined): unknown => {
    const { vpc, provider, routeTable } = subnet?.spec ?? {};
    return subnet && [subnet.uid, subnet.createdMs, subnet.isDeleting, vpc, provider, routeTable];
  };
  return JSON.stringify(fingerprint(before)) === JSON.stringify(fingerprint(after));
}

/** VPCs whose router, routes, policies, peerings or status read the changed value. */
export function routersReading(change: Change, view: View): Iterable<string> {
  if (change.kind === 'vpcs') {
    // Peers, names and namespaces that two of them want: any may be concerned by another's spec.
    return isSameVpc(change.before, change.after) ? [change.name] : new Set([change.name, ...routers(view)]);
  }
  if (change.kind === 'transitSwitches') return [defaultVpc, ...peering(view)];
  if (change.kind === 'gatewayPorts') return [change.name.slice(0, change.name.indexOf('/'))];
  if (change.kind === 'subnets' && isSameSubnet(change.before, change.after)) return [];
  if (change.kind !== 'subnets' && change.kind !== 'verdicts') return [];
  const names = new Set(peering(view));
  for (const vpc of view.indexes.vpcsByDefaultSubnet.of(change.name)) names.add(vpc);
  for (const name of change.kind === 'subnets'
    ? vpcsOf(change.before, change.after)
    : [change.before?.vpc, change.after?.vpc])
    if (name !== undefined) names.add(name);
  // Its gateway is the next hop of the default route.
  return change.name === joinSubnet ? names.add(defaultVpc) : names;
}

function vpcsOf(...subnets: readonly (Subnet | undefined)[]): readonly string[] {
  return subnets.flatMap((subnet) => (subnet === undefined ? [] : [vpcNameOf(subnet.spec)]));
}

/** Links must not overlap subnets of either side. */
function peering(view: View): readonly string[] {
  return [...view.vpcs.values()].filter(({ spec }) => spec.vpcPeerings.length > 0).map(({ name }) => name);
}
