/**
 * Links, addresses, routes and rules of one network namespace over rtnetlink(7).
 *
 * A socket belongs to the namespace in which it was opened. Dumps have a socket of their own, because the netlink package keeps one
 * multipart state per socket and would mix up a dump with another request.
 */
import { encodeMultipath, readMultipath, type MultipathRoute } from '../../lib/netlink/multipath.ts';
import { linkNamed, readLink, type Link } from '../../lib/netlink/link.ts';
import * as wire from '../../lib/netlink/message.ts';
import { NLM, RTM } from '../../lib/netlink/message.ts';
import {
  exchange,
  NetlinkError,
  type NetlinkMessage,
  type NetlinkSocket,
  openSocket,
} from '../../lib/netlink/socket.ts';
import {
  addressAttributes,
  encodePlacedRoute,
  encodeRoute,
  encodeRule,
  familyOf,
  IFA_F_NODAD,
  IFA_F_NOPREFIXROUTE,
  IFA_FLAGS,
  IFF_UP,
  IFLA,
  readAddress,
  readQdisc,
  readPlacedRoute,
  readRoute,
  readRule,
  type Address,
  type PlacedRoute,
  type Route,
  type Rule,
  type VethPair,
} from './rtnetlink-codec.ts';

const NDA = { DST: 1, LLADDR: 2 } as const;
/** NUD_PERMANENT */
const permanent = 0x80;

export class Rtnetlink {
  readonly #requests: NetlinkSocket;
  readonly #dumps: NetlinkSocket;
  #lastDump: Promise<unknown> = Promise.resolve();

  /** Must be created inside the namespace to configure. */
  constructor() {
    this.#requests = openSocket();
    this.#dumps = openSocket();
  }

  /** The netlink port of changes by this object. */
  get port(): number {
    return this.#requests.address().port;
  }

  close(): void {
    this.#requests.close();
    this.#dumps.close();
  }

  /** @throws NetlinkError ENODEV if there is none of that name. */
  async link(name: string): Promise<Link> {
    const [message] = await this.#request(RTM.GETLINK, 0, linkNamed(name), `link ${name}`);
    if (message === undefined) throw new NetlinkError('ENODEV', `link ${name}`);
    return readLink(message.data);
  }

  /** Undefined if there is none of that name. */
  async findLink(name: string): Promise<Link | undefined> {
    return this.link(name).catch((error: unknown) => {
      if (error instanceof NetlinkError && error.code === 'ENODEV') return undefined;
      throw error;
    });
  }

  /** Makes both ends at once, the peer directly in its namespace. */
  async addVeth(veth: VethPair): Promise<void> {
    const peer = wire.attribute(
      IFLA.VETH_INFO_PEER,
      wire.linkHeader(0),
      wire.attribute(IFLA.IFNAME, wire.text(veth.peer.name)),
      wire.attribute(IFLA.ADDRESS, wire.macBytes(veth.peer.mac)),
      wire.attribute(IFLA.MTU, wire.u32(veth.mtu)),
      wire.attribute(IFLA.NET_NS_FD, wire.u32(veth.peer.netnsFd)),
    );
    const info = wire.attribute(
      IFLA.LINKINFO,
      wire.attribute(IFLA.INFO_KIND, wire.text('veth')),
      wire.attribute(IFLA.INFO_DATA, peer),
    );
    const body = [
      wire.linkHeader(0),
      wire.attribute(IFLA.IFNAME, wire.text(veth.name)),
      wire.attribute(IFLA.MTU, wire.u32(veth.mtu)),
      info,
    ];
    await this.#request(RTM.NEWLINK, NLM.CREATE | NLM.EXCL, body, `veth ${veth.name} with peer ${veth.peer.name}`);
  }

  /** Makes a link without settings of its own. @throws NetlinkError EOPNOTSUPP if the kernel has no links of that kind */
  async addLink(name: string, kind: string): Promise<void> {
    const info = wire.attribute(IFLA.LINKINFO, wire.attribute(IFLA.INFO_KIND, wire.text(kind)));
    const body = [wire.linkHeader(0), wire.attribute(IFLA.IFNAME, wire.text(name)), info];
    await this.#request(RTM.NEWLINK, NLM.CREATE | NLM.EXCL, body, `${kind} ${name}`);
  }

  /** Moves a link to another namespace; it is down there and has no addresses. */
  async moveLink(index: number, netnsFd: number): Promise<void> {
    const body = [wire.linkHeader(index), wire.attribute(IFLA.NET_NS_FD, wire.u32(netnsFd))];
    await this.#request(RTM.NEWLINK, 0, body, `move of link ${index}`);
  }

  async setLink(
    index: number,
    change: { readonly mac?: string; readonly mtu?: number; readonly isUp?: boolean },
  ): Promise<void> {
    const flags = change.isUp === true ? IFF_UP : 0;
    const body = [wire.linkHeader(index, flags, change.isUp === undefined ? 0 : IFF_UP)];
    if (change.mac !== undefined) body.push(wire.attribute(IFLA.ADDRESS, wire.macBytes(change.mac)));
    if (change.mtu !== undefined) body.push(wire.attribute(IFLA.MTU, wire.u32(change.mtu)));
    await this.#request(RTM.NEWLINK, 0, body, `link ${index}`);
  }

  /** It is no error if there is no such link. */
  async deleteLink(name: string): Promise<void> {
    await this.#delete(RTM.DELLINK, linkNamed(name), `link ${name}`);
  }

  /** `hasRoute`: whether the kernel is to make a route to the network of the address. */
  async addAddress({ index, address, prefix }: Address, hasRoute = true): Promise<void> {
    // Without duplicate address detection, which would delay the first IPv6 packets by a second.
    const flags = address.includes(':') ? IFA_F_NODAD : 0;
    const body = [wire.addressHeader(familyOf(address), prefix, flags, index), ...addressAttributes(address)];
    if (!hasRoute) body.push(wire.attribute(IFA_FLAGS, wire.u32(flags | IFA_F_NOPREFIXROUTE)));
    await this.#request(RTM.NEWADDR, NLM.CREATE | NLM.REPLACE, body, `address ${address}/${prefix}`);
  }

  async deleteAddress({ index, address, prefix }: Address): Promise<void> {
    const body = [wire.addressHeader(familyOf(address), prefix, 0, index), ...addressAttributes(address)];
    await this.#delete(RTM.DELADDR, body, `address ${address}/${prefix}`);
  }

  /** Sets the MAC address of a neighbour for good: the kernel never asks for it. */
  async setNeighbour({ index, ip, mac }: { index: number; ip: string; mac: string }): Promise<void> {
    const body = [
      wire.neighbourHeader(familyOf(ip), index, permanent),
      wire.attribute(NDA.DST, wire.ipBytes(ip)),
      wire.attribute(NDA.LLADDR, wire.macBytes(mac)),
    ];
    await this.#request(RTM.NEWNEIGH, NLM.CREATE | NLM.REPLACE, body, `neighbour ${ip}`);
  }

  /** @throws NetlinkError EEXIST if there is a route to the same destination and `isReplacing` is false */
  async setRoute(route: Route, isReplacing = false): Promise<void> {
    const flags = NLM.CREATE | (isReplacing ? NLM.REPLACE : NLM.EXCL);
    await this.#request(RTM.NEWROUTE, flags, encodeRoute(route), `route ${route.destination}`);
  }

  /** Of several routes that differ in their next hops only, deletes one. */
  async deleteRoute(route: PlacedRoute): Promise<void> {
    await this.#delete(RTM.DELROUTE, encodePlacedRoute(route), `route ${route.destination}`);
  }

  /** @throws NetlinkError EEXIST if there is a route with the same destination and metric and `isReplacing` is false */
  async setMultipath(route: MultipathRoute, isReplacing: boolean): Promise<void> {
    const flags = NLM.CREATE | (isReplacing ? NLM.REPLACE : NLM.EXCL);
    await this.#request(RTM.NEWROUTE, flags, encodeMultipath(route, route.hops), `route ${route.destination}`);
  }

  /** Deletes the route of that protocol and metric, with all its next hops. */
  async deleteMultipath(route: MultipathRoute): Promise<void> {
    await this.#delete(RTM.DELROUTE, encodeMultipath(route, []), `route ${route.destination}`);
  }

  /** Unicast routes of all tables. */
  async multipathRoutes(): Promise<readonly MultipathRoute[]> {
    return (await this.#routeMessages()).flatMap(({ data }) => readMultipath(data));
  }

  /** @throws NetlinkError EEXIST if another program has added the same rule */
  async addRule(rule: Rule): Promise<void> {
    await this.#request(
      RTM.NEWRULE,
      NLM.CREATE | NLM.EXCL,
      encodeRule(rule),
      `rule ${rule.priority} from ${rule.source ?? 'all'}`,
    );
  }

  async deleteRule(rule: Rule): Promise<void> {
    await this.#delete(RTM.DELRULE, encodeRule(rule), `rule ${rule.priority} from ${rule.source ?? 'all'}`);
  }

  async links(): Promise<readonly Link[]> {
    return (await this.#dump(RTM.GETLINK, wire.linkHeader(0))).map(({ data }) => readLink(data));
  }

  /** Without link-local addresses. */
  async addresses(): Promise<readonly Address[]> {
    return (await this.#dump(RTM.GETADDR, wire.addressHeader(0, 0, 0, 0))).flatMap(({ data }) => readAddress(data));
  }

  /** Routes of all tables with one next hop. */
  async routes(): Promise<readonly Route[]> {
    return (await this.#routeMessages()).flatMap(({ data }) => readRoute(data));
  }

  /** Routes of all tables and types. */
  async placedRoutes(): Promise<readonly PlacedRoute[]> {
    return (await this.#routeMessages()).map(({ data }) => readPlacedRoute(data));
  }

  /** Only rules with actions that we use. */
  async rules(): Promise<readonly Rule[]> {
    return (
      await this.#dump(RTM.GETRULE, wire.ruleHeader({ family: 0, sourcePrefix: 0, table: 0, action: 0, flags: 0 }))
    ).flatMap(({ data }) => readRule(data));
  }

  /** Whether a link of that name has a queueing discipline of that kind. */
  async hasQdisc(name: string, kind: string): Promise<boolean> {
    const link = await this.findLink(name);
    if (link === undefined) return false;
    // struct tcmsg is struct ifinfomsg with one more word.
    const found = await this.#dump(RTM.GETQDISC, Buffer.concat([wire.linkHeader(link.index), wire.u32(0)]));
    return found.map(({ data }) => readQdisc(data)).some((one) => one.index === link.index && one.kind === kind);
  }

  /** Links with their addresses. */
  async addressedLinks(): Promise<
    readonly { readonly mtu: number; readonly mac: string; readonly addresses: readonly string[] }[]
  > {
    const [links, addresses] = [await this.links(), await this.addresses()];
    return links.map(({ index, mtu, mac }) => ({
      mtu,
      mac,
      addresses: addresses.filter((address) => address.index === index).map(({ address }) => address),
    }));
  }

  #routeMessages(): Promise<readonly NetlinkMessage[]> {
    const header = wire.routeHeader({ family: 0, prefix: 0, table: 0, protocol: 0, scope: 0, type: 0 });
    return this.#dump(RTM.GETROUTE, header);
  }

  #dump(type: number, header: Buffer): Promise<readonly NetlinkMessage[]> {
    const next = this.#lastDump.then(() => exchange(this.#dumps, type, NLM.DUMP, [header], 'dump'));
    // A failed dump rejects for its own caller; the next one starts anyway.
    this.#lastDump = next.catch(() => undefined);
    return next;
  }

  #request(type: number, flags: number, body: readonly Buffer[], what: string): Promise<readonly NetlinkMessage[]> {
    return exchange(this.#requests, type, flags, body, what);
  }

  async #delete(type: number, body: readonly Buffer[], what: string): Promise<void> {
    await this.#request(type, 0, body, what).catch((error: unknown) => {
      const isGone =
        error instanceof NetlinkError && ['ENODEV', 'EADDRNOTAVAIL', 'ESRCH', 'ENOENT'].includes(error.code);
      if (!isGone) throw error;
    });
  }
}
