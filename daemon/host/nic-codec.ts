/** Links, addresses and routes ↔ rtnetlink(7) messages, with all that is needed to move them to another interface. Pure. */
import { formatIp } from '../../lib/net/ip.ts';
import { readLink } from '../../lib/netlink/link.ts';
import * as wire from '../../lib/netlink/message.ts';
import type { NicAddress, NicRoute } from '../model/nic.ts';
import { familyOf } from './rtnetlink-codec.ts';

const IFLA = { LINK: 5, MASTER: 10, LINKINFO: 18, INFO_KIND: 1, INFO_DATA: 2, VLAN_ID: 1 } as const;
const IFF_LOOPBACK = 8;
const IFA = { ADDRESS: 1, LOCAL: 2, BROADCAST: 4, CACHEINFO: 6, FLAGS: 8, RT_PRIORITY: 9 } as const;
const IFA_F = { NODAD: 2, DEPRECATED: 0x20, NOPREFIXROUTE: 0x200 } as const;
const forever = 0xffffffff;
const RTA = { DST: 1, OIF: 4, GATEWAY: 5, PRIORITY: 6, PREFSRC: 7, METRICS: 8, MULTIPATH: 9, TABLE: 15 } as const;
/** Path metrics, gateways of another family, router preference: copied as they are. */
const extras = [8 /* METRICS */, 18 /* VIA */, 20 /* PREF */] as const;
const AF_INET = 2;
const AF_INET6 = 10;
const RTN_UNICAST = 1;
const RT_SCOPE_LINK = 253;
const RTNH_F_ONLINK = 4;
const RTM_F_CLONED = 0x200;
const localTable = 255;

export interface WireLink {
  readonly index: number;
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  readonly isUp: boolean;
  readonly hasLink: boolean;
  readonly isLoopback: boolean;
  readonly kind: string;
  /** Indexes; undefined if there is none. */
  readonly master: number | undefined;
  readonly parent: number | undefined;
  readonly vlanId: number | undefined;
}

/** The body of RTM_NEWLINK. */
export function readWireLink(data: Buffer): WireLink {
  const attributes = wire.readAttributes(data.subarray(16));
  const info = wire.readAttributes(attributes.get(IFLA.LINKINFO) ?? Buffer.alloc(0));
  const kind = info.get(IFLA.INFO_KIND);
  const vlanId = wire.readAttributes(info.get(IFLA.INFO_DATA) ?? Buffer.alloc(0)).get(IFLA.VLAN_ID);
  const [master, parent] = [attributes.get(IFLA.MASTER), attributes.get(IFLA.LINK)];
  const kindName = kind === undefined ? '' : wire.readText(kind);
  const { index, name, mac, mtu, isUp, isRunning } = readLink(data);
  return {
    index,
    name,
    mac,
    mtu,
    isUp,
    hasLink: isRunning,
    isLoopback: (wire.readU32(data, 8) & IFF_LOOPBACK) !== 0,
    kind: kindName,
    master: master === undefined ? undefined : wire.readU32(master),
    parent: parent === undefined ? undefined : wire.readU32(parent),
    vlanId: kindName === 'vlan' && vlanId !== undefined ? wire.readU16(vlanId, 0) : undefined,
  };
}

/** Empty for link-local IPv6 addresses, because each interface makes its own. */
export function readNicAddress(data: Buffer): readonly { readonly index: number; readonly address: NicAddress }[] {
  const attributes = wire.readAttributes(data.subarray(8));
  const ip = (type: number): string | undefined => textOf(attributes.get(type));
  const [family, prefix = 0, , scope = 0] = data;
  const local = ip(IFA.LOCAL) ?? ip(IFA.ADDRESS);
  if (local === undefined || (family === AF_INET6 && scope === RT_SCOPE_LINK)) return [];
  const flagBytes = attributes.get(IFA.FLAGS);
  const flags = flagBytes === undefined ? 0 : wire.readU32(flagBytes);
  const [peer, broadcast, metric] = [ip(IFA.ADDRESS), ip(IFA.BROADCAST), attributes.get(IFA.RT_PRIORITY)];
  const address: NicAddress = {
    address: local,
    prefix,
    ...(peer === undefined || peer === local ? {} : { peer }),
    ...(broadcast === undefined ? {} : { broadcast }),
    scope,
    ...((flags & IFA_F.NOPREFIXROUTE) === 0 ? {} : { isRouteless: true }),
    ...((flags & IFA_F.DEPRECATED) === 0 ? {} : { isDeprecated: true }),
    ...(metric === undefined ? {} : { metric: wire.readU32(metric) }),
  };
  return [{ index: wire.readU32(data, 4), address }];
}

export function encodeNicAddress(index: number, address: NicAddress): readonly Buffer[] {
  const { address: local, prefix, peer = local, broadcast, scope, isRouteless, isDeprecated, metric } = address;
  const family = familyOf(local);
  // The address is known to be free, because this node had it on the same network before.
  const flags =
    (family === AF_INET6 ? IFA_F.NODAD : 0) |
    (isRouteless === true ? IFA_F.NOPREFIXROUTE : 0) |
    (isDeprecated === true ? IFA_F.DEPRECATED : 0);
  const body = [
    Buffer.concat([Buffer.from([family, prefix, flags & 0xff, scope]), wire.u32(index)]),
    wire.attribute(IFA.LOCAL, wire.ipBytes(local)),
    wire.attribute(IFA.ADDRESS, wire.ipBytes(peer)),
    wire.attribute(IFA.FLAGS, wire.u32(flags)),
  ];
  if (broadcast !== undefined) body.push(wire.attribute(IFA.BROADCAST, wire.ipBytes(broadcast)));
  if (isDeprecated === true)
    body.push(wire.attribute(IFA.CACHEINFO, wire.u32(0), wire.u32(forever), wire.u32(0), wire.u32(0)));
  if (metric !== undefined) body.push(wire.attribute(IFA.RT_PRIORITY, wire.u32(metric)));
  return body;
}

/** For a multipath route: the indexes of the interfaces of its next hops. */
export type ReadRoute =
  | { readonly index: number; readonly route: NicRoute }
  | { readonly indexes: readonly number[]; readonly destination: string };

/** Empty for routes that the kernel makes for link-local and local addresses, and for cached path information. */
export function readNicRoute(data: Buffer): readonly ReadRoute[] {
  const attributes = wire.readAttributes(data.subarray(12));
  const [family = 0, prefix = 0, , tos = 0, headerTable = 0, protocol = 0, scope = 0, type] = data;
  const flags = wire.readU32(data, 8);
  const wideTable = attributes.get(RTA.TABLE);
  const table = wideTable === undefined ? headerTable : wire.readU32(wideTable);
  if (type !== RTN_UNICAST || table === localTable || (flags & RTM_F_CLONED) !== 0) return [];
  const network = textOf(attributes.get(RTA.DST)) ?? (family === AF_INET ? '0.0.0.0' : '::');
  if (network.startsWith('fe80:') || network.startsWith('ff')) return [];
  const destination = `${network}/${prefix}`;
  const hops = attributes.get(RTA.MULTIPATH);
  if (hops !== undefined) return [{ indexes: hopIndexes(hops), destination }];
  const [oif, metric] = [attributes.get(RTA.OIF), attributes.get(RTA.PRIORITY)];
  if (oif === undefined) return [];
  const [gateway, source] = [textOf(attributes.get(RTA.GATEWAY)), textOf(attributes.get(RTA.PREFSRC))];
  const carried = extras.flatMap((key) => {
    const value = attributes.get(key);
    return value === undefined ? [] : [[String(key), value.toString('hex')] as const];
  });
  const route: NicRoute = {
    destination,
    ...(gateway === undefined ? {} : { gateway }),
    ...(source === undefined ? {} : { source }),
    table,
    protocol,
    scope,
    tos,
    ...(metric === undefined ? {} : { metric: wire.readU32(metric) }),
    ...((flags & RTNH_F_ONLINK) === 0 ? {} : { isOnlink: true as const }),
    ...(carried.length === 0 ? {} : { extras: Object.fromEntries(carried) }),
  };
  return [{ index: wire.readU32(oif), route }];
}

/** struct rtnexthop: length, flags, hops, index. */
function hopIndexes(hops: Buffer): readonly number[] {
  const indexes: number[] = [];
  for (let offset = 0; offset + 8 <= hops.length;) {
    indexes.push(wire.readU32(hops, offset + 4));
    offset += Math.max(8, (wire.readU16(hops, offset) + 3) & ~3);
  }
  return indexes;
}

export function encodeNicRoute(index: number, route: NicRoute): readonly Buffer[] {
  const { destination, gateway, source, table, protocol, scope, tos, metric, isOnlink } = route;
  const slash = destination.indexOf('/');
  const [network, prefix] = [destination.slice(0, slash), Number(destination.slice(slash + 1))];
  const header = Buffer.concat([
    Buffer.from([familyOf(network), prefix, 0, tos, table < 256 ? table : 0, protocol, scope, RTN_UNICAST]),
    wire.u32(isOnlink === true ? RTNH_F_ONLINK : 0),
  ]);
  const attributes = [wire.attribute(RTA.TABLE, wire.u32(table)), wire.attribute(RTA.OIF, wire.u32(index))];
  if (prefix > 0) attributes.push(wire.attribute(RTA.DST, wire.ipBytes(network)));
  if (gateway !== undefined) attributes.push(wire.attribute(RTA.GATEWAY, wire.ipBytes(gateway)));
  if (source !== undefined) attributes.push(wire.attribute(RTA.PREFSRC, wire.ipBytes(source)));
  if (metric !== undefined) attributes.push(wire.attribute(RTA.PRIORITY, wire.u32(metric)));
  for (const [key, hex] of Object.entries(route.extras ?? {}))
    attributes.push(wire.attribute(Number(key), Buffer.from(hex, 'hex')));
  return [header, ...attributes];
}

function textOf(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined || (bytes.length !== 4 && bytes.length !== 16)) return undefined;
  return formatIp({ family: bytes.length === 4 ? 4 : 6, value: BigInt(`0x${bytes.toString('hex')}`) });
}
