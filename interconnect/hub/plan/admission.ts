/**
 * What of a member's state the hub takes. In: its wish, what it has, what all others have. Out: its record and
 * what was refused, with the holder's name. Pure. First owner keeps: only what nobody else holds is given.
 */
import { parseCidr, formatCidr, cidrsOverlap, type Cidr } from '../../../lib/net/cidr.ts';
import { formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Gateway, MemberState, Rejection } from '../../link/messages.ts';
import { logicalPortOf, type ForeignMember, type MemberRecord, type TransitNetwork } from '../state/record.ts';
import { allocatePort } from './allocation.ts';

export interface Admission {
  readonly record: MemberRecord | undefined;
  readonly rejections: readonly Rejection[];
}

/** What others hold, indexed. */
export interface Holdings {
  /** chassis name → holder */
  readonly chassis: ReadonlyMap<string, string>;
  /** `type/ip` → holder */
  readonly encaps: ReadonlyMap<string, string>;
  readonly prefixes: readonly { readonly cidr: Cidr; readonly holder: string }[];
  /** Addresses and keys on the transit switch. */
  readonly addresses: ReadonlySet<string>;
  readonly tunnelKeys: ReadonlySet<number>;
  /** logical port → holder, of foreign members */
  readonly ports: ReadonlyMap<string, string>;
}

/** What everyone but `cluster` holds. */
export function holdingsOf(
  cluster: string,
  records: Iterable<MemberRecord>,
  foreign: Iterable<ForeignMember>,
  network: TransitNetwork,
): Holdings {
  const chassis = new Map<string, string>();
  const encaps = new Map<string, string>();
  const prefixes: { cidr: Cidr; holder: string }[] = [];
  const addresses = new Set<string>();
  const tunnelKeys = new Set<number>();
  const ports = new Map<string, string>();
  const holdGateways = (holder: string, gateways: readonly Gateway[]): void => {
    for (const gateway of gateways) {
      chassis.set(gateway.chassis, holder);
      for (const { type, ip } of gateway.encaps) encaps.set(`${type}/${ip}`, holder);
    }
  };
  const holdPrefix = (holder: string, text: string): void => {
    const cidr = parseCidr(text);
    if (cidr !== undefined) prefixes.push({ cidr, holder });
  };
  for (const record of records) {
    if (record.name === cluster) continue;
    holdGateways(record.name, record.gateways);
    for (const prefix of record.prefixes) holdPrefix(record.name, prefix);
    for (const address of record.port.networks) addresses.add(address.split('/')[0] ?? '');
    tunnelKeys.add(record.port.tunnelKey);
  }
  for (const member of foreign) {
    holdGateways(member.name, member.gateways);
    for (const { prefix } of member.routes) holdPrefix(member.name, prefix);
    for (const port of member.ports) {
      ports.set(port.logicalPort, member.name);
      if (port.transitSwitch !== network.name) continue;
      for (const address of port.networks) addresses.add(address.split('/')[0] ?? '');
      tunnelKeys.add(port.tunnelKey);
    }
  }
  return { chassis, encaps, prefixes, addresses, tunnelKeys, ports };
}

export function admit(
  cluster: string,
  wish: MemberState,
  own: MemberRecord | undefined,
  holdings: Holdings,
  network: TransitNetwork,
): Admission {
  const rejections: Rejection[] = [];
  const portHolder = holdings.ports.get(logicalPortOf(network.name, cluster));
  if (portHolder !== undefined) {
    const message = `port ${logicalPortOf(network.name, cluster)} belongs to ${portHolder}, which runs its own ovn-ic; choose another cluster name`;
    return { record: undefined, rejections: [reject('member', cluster, 'ClusterNameTaken', message, portHolder)] };
  }
  const port = own?.port ?? allocatePort(network, holdings);
  if (port === undefined) {
    const message = `no free address on transit switch ${network.name} (${network.cidr}); a member has to leave first`;
    return { record: undefined, rejections: [reject('member', cluster, 'TransitExhausted', message, '')] };
  }
  const gateways = admitGateways(wish.gateways, holdings, rejections);
  const prefixes = admitPrefixes(wish.prefixes, holdings, network, rejections);
  const isActive = gateways.some(({ chassis }) => chassis === wish.activeGateway);
  const activeGateway = isActive ? wish.activeGateway : '';
  return { record: { name: cluster, gateways, activeGateway, prefixes, routerId: wish.routerId, port }, rejections };
}

function admitGateways(wished: readonly Gateway[], holdings: Holdings, rejections: Rejection[]): readonly Gateway[] {
  const admitted = new Map<string, Gateway>();
  const ownEncaps = new Set<string>();
  for (const gateway of wished) {
    const refused = refuseGateway(gateway, holdings, admitted, ownEncaps);
    if (refused !== undefined) {
      rejections.push(refused);
      continue;
    }
    const encaps = gateway.encaps.map((encap) => ({ ...encap, ip: canonicalIp(encap.ip) ?? encap.ip }));
    for (const { type, ip } of encaps) ownEncaps.add(`${type}/${ip}`);
    admitted.set(gateway.chassis, { ...gateway, encaps });
  }
  return [...admitted.values()].sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

function refuseGateway(
  { chassis, encaps }: Gateway,
  holdings: Holdings,
  admitted: ReadonlyMap<string, Gateway>,
  ownEncaps: ReadonlySet<string>,
): Rejection | undefined {
  const no = (code: string, message: string, holder = ''): Rejection =>
    reject('gateway', chassis, code, message, holder);
  const holder = holdings.chassis.get(chassis);
  if (holder !== undefined)
    return no(
      'DuplicateChassis',
      `chassis ${chassis} is a gateway of ${holder} already; give its Open vSwitch another system-id`,
      holder,
    );
  if (chassis === '' || admitted.has(chassis))
    return no('GatewayInvalid', `gateway "${chassis}" has no name of its own`);
  if (encaps.length === 0) return no('GatewayInvalid', `gateway ${chassis} has no tunnel address`);
  for (const { type, ip } of encaps) {
    const address = canonicalIp(ip);
    if (type !== 'geneve' || address === undefined)
      return no(
        'EncapUnsupported',
        `gateway ${chassis}: tunnel "${type}" to "${ip}"; only geneve to an IP address is supported`,
      );
    const other = holdings.encaps.get(`${type}/${address}`);
    if (other !== undefined)
      return no('DuplicateEncap', `gateway ${chassis}: tunnel address ${address} is used by ${other} already`, other);
    if (ownEncaps.has(`${type}/${address}`))
      return no(
        'DuplicateEncap',
        `gateway ${chassis}: tunnel address ${address} is used by another gateway of this cluster`,
      );
  }
  return undefined;
}

function admitPrefixes(
  wished: readonly string[],
  holdings: Holdings,
  network: TransitNetwork,
  rejections: Rejection[],
): readonly string[] {
  const admitted = new Set<string>();
  const transit = parseCidr(network.cidr);
  for (const prefix of wished) {
    const no = (code: string, message: string, holder = ''): void => {
      rejections.push(reject('prefix', prefix, code, message, holder));
    };
    const cidr = parseCidr(prefix);
    const clash = cidr === undefined ? undefined : holdings.prefixes.find((held) => cidrsOverlap(held.cidr, cidr));
    if (cidr === undefined || cidr.prefix === 0)
      no('PrefixInvalid', `"${prefix}" is no prefix that can be shared between clusters`);
    else if (transit?.family !== cidr.family)
      no(
        'FamilyUnsupported',
        `${prefix} cannot be reached over the transit network ${network.cidr}, which is of the other IP family`,
      );
    else if (cidrsOverlap(transit, cidr)) no('PrefixOverlap', `${prefix} overlaps the transit network ${network.cidr}`);
    else if (clash !== undefined)
      no(
        'PrefixOverlap',
        `${prefix} overlaps ${formatCidr(clash.cidr)} of ${clash.holder}, which had it first`,
        clash.holder,
      );
    else admitted.add(formatCidr(cidr));
  }
  return [...admitted].sort();
}

function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

function reject(kind: Rejection['kind'], value: string, code: string, message: string, holder: string): Rejection {
  return { kind, value, code, message, holder };
}
