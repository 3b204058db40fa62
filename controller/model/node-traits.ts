import { mostNodeAddresses } from '../../lib/api/names.ts';
import { formatIp, parseIp } from '../../lib/net/ip.ts';
import type { Ip } from '../../lib/net/ip.ts';
import type { Node } from './objects.ts';
import { nodePortGroup } from './ovn-names.ts';

/** What no two nodes should have in common: the name of its port group, and its addresses in canonical text. */
export function nodeTraits(node: Node): readonly string[] {
  return [nodePortGroup(node.name), ...nodeAddresses(node)];
}

export function allAddresses({ addresses }: Node): readonly Ip[] {
  const ips = new Map(addresses.flatMap((text) => parseIp(text) ?? []).map((ip) => [formatIp(ip), ip]));
  return [...ips.values()];
}

/** Its InternalIPs as far as they are heeded, once each, in canonical text; what is no address is left out. */
export function nodeAddresses(node: Node): readonly string[] {
  return allAddresses(node).slice(0, mostNodeAddresses).map(formatIp);
}
