/** Records of a port from before a restart: annotations or status of its object, its IP object, or its row in the northbound database. */
import { annotation, formerFinalizers, joinSubnet } from '../../../lib/api/names.ts';
import { isVouchedFor } from '../../../lib/api/pod-addresses.ts';
import { formatIp, familyOf } from '../../../lib/net/ip.ts';
import { type Ip } from '../../../lib/net/ip.ts';
import { parseMac } from '../../../lib/net/mac.ts';
import { annotationOf, annotationPrefix } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { OvnEip, VpcNatGateway } from '../../model/external-objects.ts';
import type { IpObject, Node, Pod, Vip } from '../../model/objects.ts';
import { isOwnIp } from './own-ip.ts';
import { parseAddresses } from './port-request.ts';

export interface PortRecord {
  readonly subnet: string;
  readonly addresses: readonly Ip[];
  readonly mac?: string;
  /** A port of the database without an owner, created by Kube-OVN or by hand. */
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

export interface PodRecords {
  readonly ip: IpObject | undefined;
  readonly row: PortRecord | undefined;
  /** Whether the recorded allocation satisfies the pod's current request. */
  readonly mayHave: (record: PortRecord) => boolean;
  /** Whether the port outlives the pod: the pod inherits the addresses of a former pod of the same name. */
  readonly isInherited: boolean;
}

/** Whether two records are of one allocation. A record without a MAC address matches any. */
function isSame(a: PortRecord, b: PortRecord): boolean {
  const textOf = ({ subnet, addresses }: PortRecord): string => [subnet, ...addresses.map(formatIp).sort()].join();
  return textOf(a) === textOf(b) && (a.mac ?? b.mac) === (b.mac ?? a.mac);
}

/**
 * The allocation of this very pod. Annotations count if the pod's status vouches for them: its interface was configured from them.
 * A kubelet can write both for pods on its node, but neither IP objects nor rows: if any of these exist and none agrees, they take
 * precedence. IP object and row have only the pod's name. For a pod without an address so far, they may belong to this pod or to a
 * former pod of the same name, which has no right to them any more.
 */
export function recordOfPod(
  pod: Pod,
  network: Interface,
  { ip, row, mayHave, isInherited }: PodRecords,
): PortRecord | undefined {
  const of = (key: string): string => pod.annotations[annotationOf(network, key)] ?? '';
  const own = ip !== undefined && isOwnIp(ip) ? recordOfIp(ip) : undefined;
  if (isVouchedFor(pod.addressCondition, pod.annotations, annotationPrefix(network))) {
    const vouched = recordOf(of('logical_switch'), of('ip_address'), of('mac_address'));
    const kept = [own, row?.isNobodys === true ? undefined : row].filter((one) => one !== undefined);
    const isKept = kept.length === 0 || (vouched !== undefined && kept.some((one) => isSame(one, vouched)));
    return isKept ? vouched : kept[0];
  }
  const record = own ?? row;
  const isOfKubeOvn = row?.isNobodys === true || ip?.finalizers.some((one) => formerFinalizers.includes(one)) === true;
  if (pod.addressCondition?.status === 'True' || (isOfKubeOvn && record !== undefined)) return record;
  const isOlder = own !== undefined && ip !== undefined && ip.createdMs < pod.createdMs;
  if (record === undefined || (isOlder && !isInherited)) return undefined;
  return mayHave(record) ? record : undefined;
}

/** A kubelet can write the annotations of its Node: a former address in them is a request (`nodeClaimant`), not a record. */
export function recordOfNode(ip: IpObject | undefined, row: PortRecord | undefined): PortRecord | undefined {
  const record = recordOfIp(ip) ?? row;
  return record?.subnet === joinSubnet ? record : undefined;
}

/** The former address in the annotations of a Node, for a node that is registered anew. */
export function formerAddressOf(node: Node): PortRecord | undefined {
  const { [annotation.allocated]: allocated, [annotation.ipAddress]: address = '' } = node.annotations;
  return allocated === 'true'
    ? recordOf(joinSubnet, address, node.annotations[annotation.macAddress] ?? '')
    : undefined;
}

export function recordOfVip({ spec, status }: Vip): PortRecord | undefined {
  const addresses = [status['v4ip'], status['v6ip']]
    .filter((text) => typeof text === 'string' && text !== '')
    .join(',');
  return recordOf(spec.subnet, addresses, typeof status['mac'] === 'string' ? status['mac'] : '');
}

export function recordOfEip({ spec, status }: OvnEip): PortRecord | undefined {
  const text = (field: string): string => (typeof status[field] === 'string' ? status[field] : '');
  const fields = spec.natGateway === undefined ? ['v4Ip', 'v6Ip'] : ['ip'];
  const addresses = fields.map(text).filter((part) => part !== '');
  return recordOf(spec.externalSubnet, addresses.join(','), text('macAddress'));
}

/** Only where the spec asks for the same: the former gateway had an address that was chosen for it. */
export function recordOfNatGateway({ spec, status }: VpcNatGateway): PortRecord | undefined {
  return spec.lanIp !== '' && status['lanIp'] === spec.lanIp ? recordOf(spec.subnet, spec.lanIp, '') : undefined;
}

/** A port's row as a record: `0a:… 10.16.0.2 fd00::2` in `addresses`, the subnet in `external_ids:ls`. */
export function recordOfRow(addresses: string, subnet: string): PortRecord | undefined {
  const [mac = '', ...ips] = addresses.split(' ');
  return recordOf(subnet, ofEachFamily(ips, 0), mac);
}

/** The service address of a node, read from the row of its port: the second address of each family. */
export function serviceRecordOfRow(addresses: string): PortRecord | undefined {
  const [, ...ips] = addresses.split(' ');
  return recordOf(joinSubnet, ofEachFamily(ips, 1), '');
}

/** The nth address of each family, as a list. */
function ofEachFamily(ips: readonly string[], nth: number): string {
  const [v6, v4] = [ips.filter((ip) => familyOf(ip) === 6), ips.filter((ip) => familyOf(ip) === 4)];
  return [v4[nth], v6[nth]].filter((ip) => ip !== undefined).join(',');
}
