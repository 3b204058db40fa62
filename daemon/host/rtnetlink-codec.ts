/** Links, addresses, routes and rules ↔ rtnetlink(7) messages. Pure. */
import { formatIp, type Family } from '../../lib/net/ip.ts';
import * as wire from '../../lib/netlink/message.ts';

export { mainTable } from '../../lib/netlink/multipath.ts';

/** rtm_protocol of our routes and rules; distinguishes them from those of the administrator and of routing daemons. */
export const routeProtocol = 155;

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
  /** Index of the outgoing interface; if undefined, the kernel finds the one that reaches the gateway. */
  readonly index: number | undefined;
  readonly table: number;
  /** The kernel uses the route with the lowest metric; undefined means the kernel's default metric. */
  readonly metric?: number;
  /** rtm_protocol: the program that made the route. */
  readonly protocol: number;
}

/** The properties that identify a route of any type; `unicast` has more of it if it has one next hop. */
export interface PlacedRoute {
  readonly destination: string;
  readonly table: number;
  readonly metric: number;
  readonly protocol: number;
  /** rtm_type: unicast, local, blackhole … */
  readonly type: number;
  /** Index of the interface, if it has one. */
  readonly index: number | undefined;
  readonly unicast: Route | undefined;
}

/** A routing rule for packets from a network, or packets that arrive on an interface. */
export interface Rule {
  readonly priority: number;
  readonly family: Family;
  /** Undefined matches any source. */
  readonly source: string | undefined;
  /** Undefined matches any interface. */
  readonly device: string | undefined;
  /** Whether the rule is for the packets that do not match. */
  readonly isInverted: boolean;
  readonly action: keyof typeof FR_ACT;
  /** A table, or the priority of another rule; 0 for `nop`. */
  readonly target: number;
  /** FRA_PROTOCOL: the program that made the rule. */
  readonly protocol: number;
}

export interface VethPair {
  readonly name: string;
  readonly mtu: number;
  readonly peer: { readonly name: string; readonly mac: string; readonly netnsFd: number };
}

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
const RTA = { DST: 1, OIF: 4, GATEWAY: 5, PRIORITY: 6, PREFSRC: 7, TABLE: 15 } as const;
const AF = { INET: 2, INET6: 10 } as const;
export const IFF_UP = 1;
export const IFA_F_NODAD = 2;
export const IFA_F_NOPREFIXROUTE = 0x200;
export const IFA_FLAGS = 8;
const FRA = { SRC: 2, IIFNAME: 3, GOTO: 4, PRIORITY: 6, TABLE: 15, PROTOCOL: 21 } as const;
const FR_ACT = { lookup: 1, goto: 2, nop: 3 } as const;
const FIB_RULE_INVERT = 2;
const TCA_KIND = 1;
/** Larger table numbers only fit into an attribute. */
const largestHeaderTable = 255;
export const localTable = 255;
export const RTN_UNICAST = 1;
export const RTN_LOCAL = 2;
const RT_SCOPE = { UNIVERSE: 0, LINK: 253, NOWHERE: 255 } as const;
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

export function encodeRoute({
  destination,
  gateway,
  source,
  index,
  table,
  metric,
  protocol,
}: Route): readonly Buffer[] {
  const [network, prefix] = splitCidr(destination);
  const scope = gateway === undefined ? RT_SCOPE.LINK : RT_SCOPE.UNIVERSE;
  const header = wire.routeHeader({
    family: familyOf(network),
    prefix,
    table: headerTable(table),
    protocol,
    scope,
    type: RTN_UNICAST,
  });
  const attributes = [wire.attribute(RTA.TABLE, wire.u32(table))];
  if (index !== undefined) attributes.push(wire.attribute(RTA.OIF, wire.u32(index)));
  if (prefix > 0) attributes.push(wire.attribute(RTA.DST, wire.ipBytes(network)));
  if (gateway !== undefined) attributes.push(wire.attribute(RTA.GATEWAY, wire.ipBytes(gateway)));
  if (source !== undefined) attributes.push(wire.attribute(RTA.PREFSRC, wire.ipBytes(source)));
  if (metric !== undefined) attributes.push(wire.attribute(RTA.PRIORITY, wire.u32(metric)));
  return [header, ...attributes];
}

function headerTable(table: number): number {
  return table <= largestHeaderTable ? table : 0;
}

export function encodeRule(rule: Rule): readonly Buffer[] {
  const { priority, family, source, device, isInverted, action, target, protocol } = rule;
  const [network, sourcePrefix] = source === undefined ? [undefined, 0] : splitCidr(source);
  const isLookup = action === 'lookup';
  const header = wire.ruleHeader({
    family: family === 4 ? AF.INET : AF.INET6,
    sourcePrefix,
    table: isLookup ? headerTable(target) : 0,
    action: FR_ACT[action],
    flags: isInverted ? FIB_RULE_INVERT : 0,
  });
  const attributes = [wire.attribute(FRA.PRIORITY, wire.u32(priority))];
  if (network !== undefined) attributes.push(wire.attribute(FRA.SRC, wire.ipBytes(network)));
  if (device !== undefined) attributes.push(wire.attribute(FRA.IIFNAME, wire.text(device)));
  if (action !== 'nop') attributes.push(wire.attribute(isLookup ? FRA.TABLE : FRA.GOTO, wire.u32(target)));
  return [header, ...attributes, wire.attribute(FRA.PROTOCOL, Buffer.from([protocol]))];
}

/** Empty for rules of a form that the daemon does not write. */
export function readRule(data: Buffer): readonly Rule[] {
  const attributes = wire.readAttributes(data.subarray(12));
  const [family, , prefix = 0, , headerTableOf = 0, , , actionCode] = data;
  const [source, device, priority, wideTable, protocol, next] = [
    FRA.SRC,
    FRA.IIFNAME,
    FRA.PRIORITY,
    FRA.TABLE,
    FRA.PROTOCOL,
    FRA.GOTO,
  ].map((name) => attributes.get(name));
  const action = (['lookup', 'goto', 'nop'] as const).find((name) => FR_ACT[name] === actionCode);
  if (action === undefined || priority === undefined) return [];
  const table = wideTable === undefined ? headerTableOf : wire.readU32(wideTable);
  const targets = { lookup: table, goto: next === undefined ? 0 : wire.readU32(next), nop: 0 };
  return [
    {
      priority: wire.readU32(priority),
      family: family === AF.INET ? 4 : 6,
      source: source === undefined ? undefined : `${readIp(source)}/${prefix}`,
      device: device === undefined ? undefined : wire.readText(device),
      isInverted: (wire.readU32(data, 8) & FIB_RULE_INVERT) !== 0,
      action,
      target: targets[action],
      protocol: protocol?.[0] ?? 0,
    },
  ];
}

/** struct tcmsg with its TCA_KIND: index of the interface, name of the queueing discipline. */
export function readQdisc(data: Buffer): { readonly index: number; readonly kind: string } {
  const kind = wire.readAttributes(data.subarray(20)).get(TCA_KIND);
  return { index: wire.readU32(data, 4), kind: kind === undefined ? '' : wire.readText(kind) };
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

/** The body of a request to delete the route; the kernel does not need its next hops. */
export function encodePlacedRoute({ destination, table, metric, protocol, type }: PlacedRoute): readonly Buffer[] {
  const [network, prefix] = splitCidr(destination);
  const header = wire.routeHeader({
    family: familyOf(network),
    prefix,
    table: headerTable(table),
    protocol,
    scope: RT_SCOPE.NOWHERE,
    type,
  });
  const attributes = [wire.attribute(RTA.TABLE, wire.u32(table)), wire.attribute(RTA.PRIORITY, wire.u32(metric))];
  if (prefix > 0) attributes.push(wire.attribute(RTA.DST, wire.ipBytes(network)));
  return [header, ...attributes];
}

/** Empty for routes other than unicast routes with one next hop. */
export function readRoute(data: Buffer): readonly Route[] {
  const { unicast } = readPlacedRoute(data);
  return unicast === undefined ? [] : [unicast];
}

export function readPlacedRoute(data: Buffer): PlacedRoute {
  const attributes = wire.readAttributes(data.subarray(12));
  const [family, prefix = 0, , , headerTableOf = 0, protocol = 0, , type = 0] = data;
  const any = family === AF.INET ? '0.0.0.0' : '::';
  const [network, gateway, source] = [RTA.DST, RTA.GATEWAY, RTA.PREFSRC]
    .map((name) => attributes.get(name))
    .map((bytes) => (bytes === undefined ? undefined : readIp(bytes)));
  const [index, wideTable, metric = 0] = [RTA.OIF, RTA.TABLE, RTA.PRIORITY]
    .map((name) => attributes.get(name))
    .map((bytes) => (bytes === undefined ? undefined : wire.readU32(bytes)));
  const id = { destination: `${network ?? any}/${prefix}`, table: wideTable ?? headerTableOf, metric, protocol };
  const isPlain = index !== undefined && type === RTN_UNICAST;
  return { ...id, type, index, unicast: isPlain ? { ...id, gateway, source, index } : undefined };
}
