/** Reads the interfaces of the node with their addresses and routes, and applies the steps of plan/underlay that move these. */
import * as wire from '../../lib/netlink/message.ts';
import { NLM, RTM } from '../../lib/netlink/message.ts';
import { exchange, NetlinkError, openSocket, type NetlinkSocket } from '../../lib/netlink/socket.ts';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import type { NicStep, NicAddress, Nic, NicRoute, NicsByName } from '../model/nic.ts';
import { finishChecksums } from './ethtool.ts';
import {
  encodeNicAddress,
  encodeNicRoute,
  readNicAddress,
  readNicRoute,
  readWireLink,
  type ReadRoute,
  type WireLink,
} from './nic-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { familyOf } from '../../lib/net/ip.ts';

const RTPROT_KERNEL = 2;
const RTA_OIF = 4;
const APPEND = 0x800;

export class Nics {
  readonly #netlink: Rtnetlink;
  readonly #requests: NetlinkSocket = openSocket();
  readonly #dumps: NetlinkSocket = openSocket();
  #lastRead: Promise<unknown> = Promise.resolve();

  constructor(netlink: Rtnetlink) {
    this.#netlink = netlink;
  }

  close(): void {
    this.#requests.close();
    this.#dumps.close();
  }

  /** @throws NetlinkError */
  read(): Promise<NicsByName> {
    const next = this.#lastRead.then(() => this.#read());
    // A failed read rejects for its own caller; the next one starts anyway.
    this.#lastRead = next.catch(() => undefined);
    return next;
  }

  /** Applies the steps in order and stops at the first that the kernel refuses. @throws NetlinkError */
  async apply(steps: readonly NicStep[]): Promise<void> {
    const indexes = new Map<string, number>();
    for (const step of steps) {
      const index = indexes.get(step.device) ?? (await this.#netlink.link(step.device)).index;
      indexes.set(step.device, index);
      await this.#applyStep(index, step);
    }
  }

  /** Prepares an interface for addresses. @throws NetlinkError, or an Error with a code if ethtool fails */
  async prepare(name: string, wanted: { readonly mtu?: number; readonly isUserspace: boolean }): Promise<void> {
    const link = await this.#netlink.link(name);
    const change = {
      ...(wanted.mtu === undefined || link.mtu === wanted.mtu ? {} : { mtu: wanted.mtu }),
      ...(link.isUp ? {} : { isUp: true }),
    };
    if (Object.keys(change).length > 0) await this.#netlink.setLink(link.index, change);
    if (wanted.isUserspace) finishChecksums(name);
  }

  /** Index of the interface over which the node sends to the address; undefined if there is no route. @throws NetlinkError */
  async wayTo(address: string): Promise<number | undefined> {
    const family = familyOf(address) === 6 ? 10 : 2;
    const bits = family === 2 ? 32 : 128;
    const header = wire.routeHeader({ family, prefix: bits, table: 0, protocol: 0, scope: 0, type: 0 });
    const body = [header, wire.attribute(1, wire.ipBytes(address))];
    try {
      const [message] = await exchange(this.#requests, RTM.GETROUTE, 0, body, `route to ${address}`);
      const oif = message && wire.readAttributes(message.data.subarray(12)).get(RTA_OIF);
      return oif && wire.readU32(oif);
    } catch (error) {
      if (error instanceof NetlinkError && ['ENETUNREACH', 'EHOSTUNREACH'].includes(error.code)) return undefined;
      throw error;
    }
  }

  async #applyStep(index: number, step: NicStep): Promise<void> {
    const request = (type: number, flags: number, body: readonly Buffer[], what: string): Promise<unknown> =>
      exchange(this.#requests, type, flags, body, `${what} dev ${step.device}`);
    if ('address' in step) {
      const { address, prefix } = step.address;
      const [body, what] = [encodeNicAddress(index, step.address), `address ${address}/${prefix}`];
      if (step.do === 'addAddress') await request(RTM.NEWADDR, NLM.CREATE | NLM.REPLACE, body, what);
      else await unlessGone(request(RTM.DELADDR, 0, body, what));
      return;
    }
    const [body, what] = [encodeNicRoute(index, step.route), `route ${step.route.destination}`];
    if (step.do === 'deleteRoute') await unlessGone(request(RTM.DELROUTE, 0, body, what));
    // Appended, not replaced, because another interface may have a route to the same destination.
    else await unlessThere(request(RTM.NEWROUTE, NLM.CREATE | APPEND, body, what));
  }

  async #read(): Promise<NicsByName> {
    const dump = async (type: number, header: Buffer): Promise<readonly Buffer[]> =>
      (await exchange(this.#dumps, type, NLM.DUMP, [header], 'dump')).map(({ data }) => data);
    const links = (await dump(RTM.GETLINK, wire.linkHeader(0))).map(readWireLink);
    const addresses = (await dump(RTM.GETADDR, wire.addressHeader(0, 0, 0, 0))).flatMap(readNicAddress);
    const anyRoute = wire.routeHeader({ family: 0, prefix: 0, table: 0, protocol: 0, scope: 0, type: 0 });
    const routes = (await dump(RTM.GETROUTE, anyRoute)).flatMap(readNicRoute);
    const names = new Map(links.map(({ index, name }) => [index, name]));
    return new Map(
      links.map((link) => {
        const own = addresses.filter(({ index }) => index === link.index).map(({ address }) => address);
        return [link.name, nicOf(link, names, own, routes)];
      }),
    );
  }
}

function nicOf(
  link: WireLink,
  names: ReadonlyMap<number, string>,
  addresses: readonly NicAddress[],
  routes: readonly ReadRoute[],
): Nic {
  const { master, parent, vlanId, ...rest } = link;
  const isMadeByKernel = ({ protocol, destination }: NicRoute): boolean =>
    protocol === RTPROT_KERNEL && addresses.some((address) => networkOf(address) === destination);
  return {
    ...rest,
    // A master in another namespace is only known by its index.
    master: master === undefined ? undefined : (names.get(master) ?? `interface ${master}`),
    vlan: vlanId === undefined || parent === undefined ? undefined : { id: vlanId, parent: names.get(parent) ?? '' },
    addresses,
    routes: routes.flatMap((read) =>
      'route' in read && read.index === link.index && !isMadeByKernel(read.route) ? [read.route] : [],
    ),
    multipath: routes.flatMap((read) =>
      'indexes' in read && read.indexes.includes(link.index) ? [read.destination] : [],
    ),
  };
}

/** Destination of the route that the kernel makes for an address. */
function networkOf({ address, peer, prefix, isRouteless }: NicAddress): string | undefined {
  const cidr = parseCidr(`${peer ?? address}/${prefix}`);
  return cidr === undefined || isRouteless === true ? undefined : formatCidr(cidr);
}

async function unlessGone(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    const isGone = error instanceof NetlinkError && ['EADDRNOTAVAIL', 'ESRCH', 'ENOENT'].includes(error.code);
    if (!isGone) throw error;
  });
}

async function unlessThere(request: Promise<unknown>): Promise<void> {
  await request.catch((error: unknown) => {
    if (!(error instanceof NetlinkError && error.code === 'EEXIST')) throw error;
  });
}
