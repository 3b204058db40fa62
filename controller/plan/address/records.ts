/** What is on record about a port from before: on its object, in its IP object, or in the northbound database. */
import { annotation, joinSubnet } from '../../../lib/api/names.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import { parseMac } from '../../../lib/net/mac.ts';
import type { IpObject, Node, Pod, Vip } from '../../state/objects.ts';
import { annotationOf } from '../pod/interfaces.ts';
import type { Interface } from '../pod/interfaces.ts';
import { parseAddresses } from '../pod/port-request.ts';

export interface PortRecord {
  readonly subnet: string;
  readonly addresses: readonly Ip[];
  readonly mac?: string;
  /** A port of the database that no plan made, of Kube-OVN or of hand. */
  readonly isNobodys?: boolean;
}

function recordOf(subnet: string, addressText: string, macText: string): PortRecord | undefined {
  const addresses = addressText === '' ? undefined : parseAddresses(addressText);
  const mac = parseMac(macText);
  if (subnet === '' || addresses === undefined) return undefined;
  return { subnet, addresses, ...(mac === undefined ? {} : { mac }) };
}

export function recordOfIp(ip: IpObject | undefined): PortRecord | undefined {
  if (ip === undefined) return undefined;
  const { subnet, v4IpAddress, v6IpAddress, ipAddress, macAddress } = ip.spec;
  const families = [v4IpAddress, v6IpAddress].filter((text) => text !== '').join(',');
  return recordOf(subnet, families === '' ? ipAddress : families, macAddress);
}

/** The pod's own annotations come first: its interface was configured from them. */
export function recordOfPod(
  pod: Pod,
  network: Interface,
  ip: IpObject | undefined,
  row: PortRecord | undefined,
): PortRecord | undefined {
  const of = (key: string): string => pod.annotations[annotationOf(network, key)] ?? '';
  const told =
    of('allocated') === 'true' ? recordOf(of('logical_switch'), of('ip_address'), of('mac_address')) : undefined;
  return told ?? recordOfIp(ip) ?? row;
}

export function recordOfNode(
  node: Node,
  ip: IpObject | undefined,
  row: PortRecord | undefined,
): PortRecord | undefined {
  const { [annotation.allocated]: told, [annotation.ipAddress]: address = '' } = node.annotations;
  const own =
    told === 'true' ? recordOf(joinSubnet, address, node.annotations[annotation.macAddress] ?? '') : undefined;
  const record = own ?? recordOfIp(ip) ?? row;
  return record?.subnet === joinSubnet ? record : undefined;
}

export function recordOfVip({ spec, status }: Vip): PortRecord | undefined {
  const told = [status['v4ip'], status['v6ip']].filter((text) => typeof text === 'string' && text !== '').join(',');
  return recordOf(spec.subnet, told, typeof status['mac'] === 'string' ? status['mac'] : '');
}

/** A port's row as a record: `0a:… 10.16.0.2 fd00::2` in `addresses`, the subnet in `external_ids:ls`. */
export function recordOfRow(addresses: string, subnet: string): PortRecord | undefined {
  const [mac = '', ...ips] = addresses.split(' ');
  return recordOf(subnet, ips.join(','), mac);
}
