import { mostNodeAddresses } from '../../lib/api/names.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { Ip } from '../../lib/net/ip.ts';
import type { Node } from './objects.ts';
import { nodePortGroup } from './ovn-names.ts';

/** Traits that no two nodes should share: the name of the node's port group, and its addresses as canonical texts. */
export function nodeTraits(node: Node): readonly string[] {
  return [nodePortGroup(node.name), ...nodeAddresses(node)];
}

export function allAddresses({ addresses }: Node): readonly Ip[] {
  const ips = new Map(addresses.flatMap((text) => parseIp(text) ?? []).map((ip) => [formatIp(ip), ip]));
  return [...ips.values()];
}

/** The ExternalIPs of a node that are used, in the same way as `nodeAddresses`. */
export function externalAddresses(node: Node): readonly string[] {
  return nodeAddresses({ ...node, addresses: node.externalAddresses });
}

/** The InternalIPs of a node that are used, once each, as canonical texts. Invalid addresses are left out. */
export function nodeAddresses(node: Node): readonly string[] {
  return allAddresses(node).slice(0, mostNodeAddresses).map(formatIp);
}
