/** Comma lists of addresses, gateways and networks in annotations: IPv4 first, then IPv6, either may be absent. */
import { parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { parseMac } from '../../lib/net/mac.ts';
import { annotation } from '../../lib/api/names.ts';
import type { Attachable, InterfaceAddress } from '../state/facts.ts';

export function splitList(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
}

export function isSameFamily(a: string, b: string): boolean {
  return a.includes(':') === b.includes(':');
}

/**
 * The network of a pod or node from its annotations. Undefined until the controller has allocated; a sentence
 * where the annotations contradict each other.
 */
export function parseAttachable(annotations: Readonly<Record<string, string>>): Attachable | string | undefined {
  if (annotations[annotation.allocated] !== 'true') return undefined;
  const mac = parseMac(annotations[annotation.macAddress] ?? '');
  if (mac === undefined)
    return `annotation ${annotation.macAddress} is not a MAC address: ${JSON.stringify(annotations[annotation.macAddress])}`;
  const networks = splitList(annotations[annotation.cidr]);
  const gateways = splitList(annotations[annotation.gateway]);
  const addresses: InterfaceAddress[] = [];
  for (const ip of splitList(annotations[annotation.ipAddress])) {
    const network = networks.find((cidr) => isSameFamily(cidr, ip));
    const gateway = gateways.find((candidate) => isSameFamily(candidate, ip));
    const prefix = network === undefined ? undefined : parseCidr(network)?.prefix;
    if (parseIp(ip) === undefined)
      return `annotation ${annotation.ipAddress} has ${JSON.stringify(ip)}, which is not an IP address`;
    if (prefix === undefined)
      return `annotation ${annotation.cidr} has no network for ${ip}: ${JSON.stringify(annotations[annotation.cidr])}`;
    if (gateway !== undefined && parseIp(gateway) === undefined)
      return `annotation ${annotation.gateway} has ${JSON.stringify(gateway)}, which is not an IP address`;
    addresses.push({ ip, prefix, gateway });
  }
  if (addresses.length === 0) return `annotation ${annotation.ipAddress} is empty`;
  return { mac, addresses, networks, subnet: annotations[annotation.logicalSwitch] ?? '' };
}
