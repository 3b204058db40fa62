/** Routes with any number of next hops ↔ rtnetlink(7) messages. Pure. */
import { formatIp } from '../net/ip.ts';
import * as wire from './message.ts';

export const mainTable = 254;
/** RTPROT_BGP */
export const bgpProtocol = 186;

export interface PathHop {
  /** Undefined: the destination is on the link itself. */
  readonly gateway: string | undefined;
  /** Of the outgoing interface. */
  readonly index: number;
  /** Reported by the kernel: no packet uses this hop, and no route is created with it. */
  readonly isDown?: true;
}

/** A unicast route. */
export interface MultipathRoute {
  readonly destination: string;
  readonly hops: readonly PathHop[];
  readonly table: number;
  /** RTA_PRIORITY: among routes to one destination the lowest is used. */
  readonly metric: number;
  /** The creator of the route: rtm_protocol. */
  readonly protocol: number;
}

const RTA = { DST: 1, OIF: 4, GATEWAY: 5, PRIORITY: 6, MULTIPATH: 9, TABLE: 15, VIA: 18 } as const;
const AF = { INET: 2, INET6: 10 } as const;
const RTN_UNICAST = 1;
/** The gateway is on that link regardless of other routes, even if the route itself covers the gateway. */
const RTNH_F_ONLINK = 4;
/** RTNH_F_DEAD | RTNH_F_LINKDOWN */
const downFlags = 1 | 16;
const hopHeaderLength = 8;

/** The attributes that identify a route; a route without hops is to be deleted. */
export function encodeMultipath(route: Omit<MultipathRoute, 'hops' | 'table'>, hops: readonly PathHop[]): Buffer[] {
  const slash = route.destination.indexOf('/');
  const [network, prefix] = [route.destination.slice(0, slash), Number(route.destination.slice(slash + 1))];
  const family = familyOf(network);
  const { protocol, metric } = route;
  const header = wire.routeHeader({ family, prefix, table: mainTable, protocol, scope: 0, type: RTN_UNICAST });
  const attributes = [wire.attribute(RTA.TABLE, wire.u32(mainTable)), wire.attribute(RTA.PRIORITY, wire.u32(metric))];
  if (prefix > 0) attributes.push(wire.attribute(RTA.DST, wire.ipBytes(network)));
  // A single hop is written the same way: the kernel creates a plain route.
  if (hops.length > 0) attributes.push(wire.attribute(RTA.MULTIPATH, ...hops.map((hop) => encodeHop(hop, family))));
  return [header, ...attributes];
}

/** struct rtnexthop */
function encodeHop({ gateway, index }: PathHop, family: number): Buffer {
  const attributes = gateway === undefined ? Buffer.alloc(0) : encodeGateway(gateway, family);
  const length = wire.u16(hopHeaderLength + attributes.length);
  return Buffer.concat([length, Buffer.from([RTNH_F_ONLINK, 0]), wire.u32(index), attributes]);
}

/** An IPv6 gateway of an IPv4 route (RFC 8950) has an attribute of its own. */
function encodeGateway(gateway: string, family: number): Buffer {
  const own = familyOf(gateway);
  if (own === family) return wire.attribute(RTA.GATEWAY, wire.ipBytes(gateway));
  return wire.attribute(RTA.VIA, wire.u16(own), wire.ipBytes(gateway));
}

/** Returns nothing for messages other than a unicast route with an interface. */
export function readMultipath(data: Buffer): readonly MultipathRoute[] {
  const attributes = wire.readAttributes(data.subarray(12));
  const [family, prefix = 0, , , headerTable = 0, protocol = 0, , type] = data;
  if (type !== RTN_UNICAST) return [];
  const hops = readHops(attributes, data[8] ?? 0);
  if (hops.length === 0) return [];
  const [network, table, metric] = [RTA.DST, RTA.TABLE, RTA.PRIORITY].map((name) => attributes.get(name));
  const any = family === AF.INET ? '0.0.0.0' : '::';
  return [
    {
      destination: `${network === undefined ? any : readIp(network)}/${prefix}`,
      hops,
      table: table === undefined ? headerTable : wire.readU32(table),
      metric: metric === undefined ? 0 : wire.readU32(metric),
      protocol,
    },
  ];
}

/** @param flags of the route, which are those of its only hop */
function readHops(attributes: ReadonlyMap<number, Buffer>, flags: number): readonly PathHop[] {
  const oif = attributes.get(RTA.OIF);
  const paths = attributes.get(RTA.MULTIPATH);
  if (paths === undefined) return oif === undefined ? [] : [readHop(attributes, wire.readU32(oif), flags)];
  const hops: PathHop[] = [];
  for (let offset = 0; offset + hopHeaderLength <= paths.length;) {
    const length = wire.readU16(paths, offset);
    if (length < hopHeaderLength) break;
    const own = wire.readAttributes(paths.subarray(offset + hopHeaderLength, offset + length));
    hops.push(readHop(own, wire.readU32(paths, offset + 4), paths[offset + 2] ?? 0));
    offset += (length + 3) & ~3;
  }
  return hops;
}

function readHop(attributes: ReadonlyMap<number, Buffer>, index: number, flags: number): PathHop {
  const hop = { gateway: readGateway(attributes), index };
  return (flags & downFlags) === 0 ? hop : { ...hop, isDown: true };
}

function readGateway(attributes: ReadonlyMap<number, Buffer>): string | undefined {
  const [gateway, via] = [attributes.get(RTA.GATEWAY), attributes.get(RTA.VIA)];
  if (gateway !== undefined) return readIp(gateway);
  return via === undefined ? undefined : readIp(via.subarray(2));
}

function readIp(bytes: Buffer): string {
  return formatIp({ family: bytes.length === 4 ? 4 : 6, value: BigInt(`0x${bytes.toString('hex')}`) });
}

function familyOf(address: string): number {
  return address.includes(':') ? AF.INET6 : AF.INET;
}
