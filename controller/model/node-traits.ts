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

/** All addresses of a node, once each, as canonical texts; of each type as many as are used. */
export function allNodeAddresses(node: Node): readonly string[] {
  const external = allAddresses({ ...node, addresses: node.externalAddresses }).slice(0, mostNodeAddresses);
  return [...new Set([...nodeAddresses(node), ...external.map(formatIp)])];
}

/** The InternalIPs of a node that are used, once each, as canonical texts. Invalid addresses are left out. */
export function nodeAddresses(node: Node): readonly string[] {
  return allAddresses(node).slice(0, mostNodeAddresses).map(formatIp);
}
