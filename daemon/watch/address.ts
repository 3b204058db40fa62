/** Parses comma-separated addresses, gateways and networks in annotations: IPv4 first, then IPv6; either may be absent. */
import { parseCidr } from '../../lib/net/cidr.ts';
import { parseIp, familyOf } from '../../lib/net/ip.ts';
import { parseMac } from '../../lib/net/mac.ts';
import { annotation, defaultProvider, interfaceAnnotation } from '../../lib/api/names.ts';
import type { InterfaceNetwork, InterfaceAddress } from '../model/address.ts';

export function splitList(text: string | undefined): readonly string[] {
  return (text ?? '').split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
}

export function isSameFamily(a: string, b: string): boolean {
  return familyOf(a) === familyOf(b);
}

/**
 * Parses the addresses of a node, or of a pod's interface of that provider. Undefined until the controller has allocated them; a sentence if
 * the annotations contradict each other.
 */
export function parseInterfaceNetwork(
  annotations: Readonly<Record<string, string>>,
  provider: string = defaultProvider,
): InterfaceNetwork | string | undefined {
  const name = (key: string): string => interfaceAnnotation(provider, key);
  const value = (key: string): string | undefined => annotations[name(key)];
  if (value(annotation.allocated) !== 'true') return undefined;
  const mac = parseMac(value(annotation.macAddress) ?? '');
  if (mac === undefined)
    return `annotation ${name(annotation.macAddress)} is not a MAC address: ${JSON.stringify(value(annotation.macAddress))}`;
  const networks = splitList(value(annotation.cidr));
  const gateways = splitList(value(annotation.gateway));
  const addresses: InterfaceAddress[] = [];
  for (const ip of splitList(value(annotation.ipAddress))) {
    const network = networks.find((cidr) => isSameFamily(cidr, ip));
    const gateway = gateways.find((candidate) => isSameFamily(candidate, ip));
    const prefix = network === undefined ? undefined : parseCidr(network)?.prefix;
    if (parseIp(ip) === undefined)
      return `annotation ${name(annotation.ipAddress)} has ${JSON.stringify(ip)}, which is not an IP address`;
    if (prefix === undefined)
      return `annotation ${name(annotation.cidr)} has no network for ${ip}: ${JSON.stringify(value(annotation.cidr))}`;
    if (gateway !== undefined && parseIp(gateway) === undefined)
      return `annotation ${name(annotation.gateway)} has ${JSON.stringify(gateway)}, which is not an IP address`;
    addresses.push({ ip, prefix, gateway });
  }
  if (addresses.length === 0) return `annotation ${name(annotation.ipAddress)} is empty`;
  return { mac, addresses, networks, subnet: value(annotation.logicalSwitch) ?? '' };
}
