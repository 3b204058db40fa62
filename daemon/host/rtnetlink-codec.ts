/** Links, addresses and routes ↔ rtnetlink(7) messages. Pure. */
import { formatIp } from '../../lib/net/ip.ts';
import * as wire from './netlink-message.ts';

export interface Link {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  readonly isUp: boolean;
}

export interface Address {
  readonly index: number;
  readonly address: string;
  readonly prefix: number;
}

export interface Route {
  /** `10.16.0.0/16`; `0.0.0.0/0` for the default. */
  readonly destination: string;
  readonly gateway: string | undefined;
  readonly source: string | undefined;
  readonly index: number;
  /** Who made it: rtm_protocol. */
  readonly protocol: number;
}

export interface VethPair {
  readonly name: string;
  readonly mtu: number;
  readonly peer: { readonly name: string; readonly mac: string; readonly netnsFd: number };
}

export const RTM = {
  NEWLINK: 16,
  DELLINK: 17,
  GETLINK: 18,
  NEWADDR: 20,
  DELADDR: 21,
  GETADDR: 22,
  NEWROUTE: 24,
  DELROUTE: 25,
  GETROUTE: 26,
} as const;
export const NLM = { ERROR: 2, REPLACE: 0x100, EXCL: 0x200, CREATE: 0x400, DUMP: 0x300 } as const;
export const IFLA = {
  ADDRESS: 1,
  IFNAME: 3,
  MTU: 4,
  LINKINFO: 18,
  NET_NS_FD: 28,
  INFO_KIND: 1,
  INFO_DATA: 2,
  VETH_INFO_PEER: 1,
} as const;
const IFA = { ADDRESS: 1, LOCAL: 2, FLAGS: 8 } as const;
const RTA = { DST: 1, OIF: 4, GATEWAY: 5, PREFSRC: 7, TABLE: 15 } as const;
const AF = { INET: 2, INET6: 10 } as const;
export const IFF_UP = 1;
export const IFA_F_NODAD = 2;
const RT_TABLE_MAIN = 254;
const RTN_UNICAST = 1;
const RT_SCOPE = { UNIVERSE: 0, LINK: 253 } as const;
export function familyOf(address: string): number {
  return address.includes(':') ? AF.INET6 : AF.INET;
}

export function addressAttributes(address: string): readonly Buffer[] {
  return [wire.attribute(IFA.LOCAL, wire.ipBytes(address)), wire.attribute(IFA.ADDRESS, wire.ipBytes(address))];
}

function splitCidr(cidr: string): [address: string, prefix: number] {
  const slash = cidr.indexOf('/');
  return [cidr.slice(0, slash), Number(cidr.slice(slash + 1))];
}

export function encodeRoute({ destination, gateway, source, index, protocol }: Route): readonly Buffer[] {
  const [network, prefix] = splitCidr(destination);
  const scope = gateway === undefined ? RT_SCOPE.LINK : RT_SCOPE.UNIVERSE;
  const header = wire.routeHeader({
    family: familyOf(network),
    prefix,
    table: RT_TABLE_MAIN,
    protocol,
    scope,
    type: RTN_UNICAST,
  });
  const attributes = [wire.attribute(RTA.OIF, wire.u32(index))];
  if (prefix > 0) attributes.push(wire.attribute(RTA.DST, wire.ipBytes(network)));
  if (gateway !== undefined) attributes.push(wire.attribute(RTA.GATEWAY, wire.ipBytes(gateway)));
  if (source !== undefined) attributes.push(wire.attribute(RTA.PREFSRC, wire.ipBytes(source)));
  return [header, ...attributes];
}

export function readLink(data: Buffer): Link {
  const attributes = wire.readAttributes(data.subarray(16));
  const mtu = attributes.get(IFLA.MTU);
  return {
    index: wire.readU32(data, 4),
    name: attributes.get(IFLA.IFNAME)?.toString('utf8').replace(/\0$/, '') ?? '',
    mac:
      attributes
        .get(IFLA.ADDRESS)
        ?.toString('hex')
        .replaceAll(/(..)(?!$)/g, '$1:') ?? '',
    mtu: mtu === undefined ? 0 : wire.readU32(mtu),
    isUp: (wire.readU32(data, 8) & IFF_UP) !== 0,
  };
}

function readIp(bytes: Buffer): string {
  return formatIp({ family: bytes.length === 4 ? 4 : 6, value: BigInt(`0x${bytes.toString('hex')}`) });
}

export function readAddress(data: Buffer): readonly Address[] {
  const attributes = wire.readAttributes(data.subarray(8));
  const bytes = attributes.get(IFA.LOCAL) ?? attributes.get(IFA.ADDRESS);
  const isLinkLocal = data[3] === RT_SCOPE.LINK;
  return bytes === undefined || isLinkLocal
    ? []
    : [{ index: wire.readU32(data, 4), address: readIp(bytes), prefix: data[1] ?? 0 }];
}

export function readRoute(data: Buffer): readonly Route[] {
  const attributes = wire.readAttributes(data.subarray(12));
  const [family, prefix = 0, , , table = 0, protocol = 0, , type] = data;
  const oif = attributes.get(RTA.OIF);
  const wideTable = attributes.get(RTA.TABLE);
  if (
    oif === undefined ||
    type !== RTN_UNICAST ||
    (wideTable === undefined ? table : wire.readU32(wideTable)) !== RT_TABLE_MAIN
  )
    return [];
  const any = family === AF.INET ? '0.0.0.0' : '::';
  const [destination, gateway, source] = [RTA.DST, RTA.GATEWAY, RTA.PREFSRC]
    .map((name) => attributes.get(name))
    .map((bytes) => (bytes === undefined ? undefined : readIp(bytes)));
  return [{ destination: `${destination ?? any}/${prefix}`, gateway, source, index: wire.readU32(oif), protocol }];
}
