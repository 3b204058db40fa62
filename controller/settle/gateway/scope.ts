/**
 * Where traffic of a subnet leaves the overlay. Which nodes are in use is settled here (`choice.ts`, `active-gateways.ts`); the
 * policies of the default router and the status are planned in `plan/gateway`. Rule: which nodes are candidates is the user's choice
 * alone, since only those nodes give the subnet's packets their source address.
 */
import { defaultProvider, defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import { hasLogicalGateway } from '../../model/net-in-force.ts';
import { vpcNameOf } from '../../model/objects.ts';
import type { Subnet, SubnetSpec } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';

/** Whether nodes may be gateways of a subnet, by its spec: they are on the default router only, and carry first interfaces only. */
export function isOfNodes({ name, spec }: Pick<Subnet, 'name' | 'spec'>): boolean {
  const isFirst = spec.provider === '' || spec.provider === defaultProvider;
  return name !== joinSubnet && isFirst && vpcNameOf(spec) === defaultVpc;
}

/** Whether nodes are gateways of a subnet: where a router of the physical network is, they are not. */
export function isThroughNodes(view: Pick<View, 'verdicts'>, subnet: Pick<Subnet, 'name' | 'spec'>): boolean {
  return isOfNodes(subnet) && hasLogicalGateway(view.verdicts.get(subnet.name)?.net);
}

/** Whether the first of the above holds for an object as it did before. */
export function isSameScope(before: Subnet | undefined, after: Subnet | undefined): boolean {
  return (before !== undefined && isOfNodes(before)) === (after !== undefined && isOfNodes(after));
}

export function isCentralized({ gatewayType }: SubnetSpec): boolean {
  return gatewayType === 'centralized';
}

/** Whether the same kind of gateway is asked for, of nodes or not, as before. */
export function hasSameGateways(before: Subnet | undefined, after: Subnet | undefined): boolean {
  if (before === undefined || after === undefined) return before === after;
  return isSameScope(before, after) && isCentralized(before.spec) === isCentralized(after.spec);
}

/** The parts of a comma list. */
export function partsOf(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '');
}
