/** What is on record about a port from before: on its object, in its IP object, or in the northbound database. */
import { annotation, joinSubnet } from '../../lib/api/names.ts';
import type { Ip } from '../../lib/net/ip.ts';
import { parseMac } from '../../lib/net/mac.ts';
import type { IpObject, Node, Pod } from './objects.ts';
import { parseAddresses } from './port-request.ts';

export interface PortRecord {
  readonly subnet: string;
  readonly addresses: readonly Ip[];
  readonly mac?: string;
}

function recordOf(subnet: string, addressText: string, macText: string): PortRecord | undefined {
  const addresses = addressText === '' ? undefined : parseAddresses(addressText);
  const mac = parseMac(macText);
  if (subnet === '' || addresses === undefined) return undefined;
  return { subnet, addresses, ...(mac === undefined ? {} : { mac }) };
}

function recordOfIp(ip: IpObject | undefined): PortRecord | undefined {
  if (ip === undefined) return undefined;
  const { subnet, v4IpAddress, v6IpAddress, ipAddress, macAddress } = ip.spec;
  const families = [v4IpAddress, v6IpAddress].filter((text) => text !== '').join(',');
  return recordOf(subnet, families === '' ? ipAddress : families, macAddress);
}

function recordOfAnnotations(annotations: Readonly<Record<string, string>>, subnet: string): PortRecord | undefined {
  if (annotations[annotation.allocated] !== 'true') return undefined;
  return recordOf(subnet, annotations[annotation.ipAddress] ?? '', annotations[annotation.macAddress] ?? '');
}

/** The pod's own annotations come first: its interface was configured from them. */
export function recordOfPod(pod: Pod, ip: IpObject | undefined, row: PortRecord | undefined): PortRecord | undefined {
  const subnet = pod.annotations[annotation.logicalSwitch] ?? '';
  return recordOfAnnotations(pod.annotations, subnet) ?? recordOfIp(ip) ?? row;
}

export function recordOfNode(
  node: Node,
  ip: IpObject | undefined,
  row: PortRecord | undefined,
): PortRecord | undefined {
  const record = recordOfAnnotations(node.annotations, joinSubnet) ?? recordOfIp(ip) ?? row;
  return record?.subnet === joinSubnet ? record : undefined;
}

/** What somebody set aside by an IP object of their own. */
export function reservationOf(ip: IpObject): PortRecord | undefined {
  return recordOfIp(ip);
}

/** A port's row as a record: `0a:… 10.16.0.2 fd00::2` in `addresses`, the subnet in `external_ids:ls`. */
export function recordOfRow(addresses: string, subnet: string): PortRecord | undefined {
  const [mac = '', ...ips] = addresses.split(' ');
  return recordOf(subnet, ips.join(','), mac);
}
