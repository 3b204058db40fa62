/** Whether this node is where a subnet's traffic leaves the overlay. Pure. */
import { matchesSelector } from '../../lib/api/label-selector.ts';
import type { NodeFacts, SubnetFacts } from '../model/facts.ts';

export function isGatewayOf({ gateway }: SubnetFacts, node: NodeFacts): boolean {
  if (gateway === undefined) return true;
  return gateway.nodes.has(node.name) || gateway.selectors.some((selector) => matchesSelector(selector, node.labels));
}

/** Addresses the subnet's traffic shall have when it leaves here, as `gatewayNode` names them. */
export function ownAddressesOf({ gateway }: SubnetFacts, node: NodeFacts): readonly string[] {
  return gateway?.nodes.get(node.name) ?? [];
}
