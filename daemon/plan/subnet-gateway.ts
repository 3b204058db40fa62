/** Whether this node is a gateway of a subnet: whether its traffic leaves the overlay here. Pure. */
import { matchesSelector } from '../../lib/api/label-selector.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';

export function isGatewayOf({ gateway }: Subnet, node: Node): boolean {
  if (gateway === undefined) return true;
  return gateway.nodes.has(node.name) || gateway.selectors.some((selector) => matchesSelector(selector, node.labels));
}

/** Addresses that `gatewayNode` gives to the traffic of the subnet on this node. */
export function ownAddressesOf({ gateway }: Subnet, node: Node): readonly string[] {
  return gateway?.nodes.get(node.name) ?? [];
}
