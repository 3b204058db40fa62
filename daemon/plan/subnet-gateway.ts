/** Whether this node is where a subnet's traffic leaves the overlay. Pure. */
import { matchesSelector } from '../../lib/api/label-selector.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';

export function isGatewayOf({ gateway }: Subnet, node: Node): boolean {
  if (gateway === undefined) return true;
  return gateway.nodes.has(node.name) || gateway.selectors.some((selector) => matchesSelector(selector, node.labels));
}

/** Addresses the subnet's traffic shall have when it leaves here, as `gatewayNode` names them. */
export function ownAddressesOf({ gateway }: Subnet, node: Node): readonly string[] {
  return gateway?.nodes.get(node.name) ?? [];
}
