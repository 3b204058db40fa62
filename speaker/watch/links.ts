/** Watches the links that BgpPeers name, and the kernel's neighbours on them. Kernel messages only trigger a reading, which provides the values. */
import { type Link, linkNamed, readLink } from '../../lib/netlink/link.ts';
import { isLinkLocal, parseIp } from '../../lib/net/ip.ts';
import { NLM, RTM } from '../../lib/netlink/message.ts';
import { type Events, openEvents } from '../../lib/netlink/events.ts';
import {
  exchange,
  NetlinkError,
  type NetlinkMessage,
  type NetlinkSocket,
  openSocket,
  Protocol,
} from '../../lib/netlink/socket.ts';
import type { SeenLink } from '../model/link.ts';
import {
  addressesHeader,
  type NeighborEntry,
  neighborsHeader,
  type OwnAddress,
  readNeighbor,
  readOwnAddress,
} from './neighbor-codec.ts';

/** RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV6_IFADDR */
const groups = [1, 3, 9];
/** One change causes several messages. */
const gatherMs = 10;

export class LinkWatch {
  readonly #onChange: (links: ReadonlyMap<string, SeenLink>) => void;
  #names: ReadonlySet<string> = new Set();
  #indexes: ReadonlySet<number> = new Set();
  #sockets: { readonly requests: NetlinkSocket; readonly news: Events } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isStale = false;
  /** Names whose links were passed to `onChange`. */
  #reported: ReadonlySet<string> = new Set();

  /** @param onChange is called with all present links after each change of them or of their neighbours */
  constructor(onChange: (links: ReadonlyMap<string, SeenLink>) => void) {
    this.#onChange = onChange;
  }

  /** Sets the links to watch. @returns whether `onChange` was already called with all of them; otherwise it soon will be */
  follow(names: ReadonlySet<string>): boolean {
    const isKnown = names.isSubsetOf(this.#reported);
    if (isKnown && names.size === this.#names.size) return true;
    this.#names = names;
    if (names.size === 0) this.close();
    else this.#schedule(0);
    return isKnown;
  }

  close(): void {
    this.#names = new Set();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // A reading in progress closes the sockets when it ends.
    if (this.#isReading) return;
    this.#sockets?.requests.close();
    this.#sockets?.news.close();
    this.#sockets = undefined;
    this.#reported = new Set();
  }

  #open(): { readonly requests: NetlinkSocket; readonly news: Events } {
    const news = openEvents({
      protocol: Protocol.ROUTE,
      groups,
      onMessages: (messages) => {
        if (messages.some((message) => this.#concerns(message))) this.#schedule(gatherMs);
      },
      onLoss: () => this.#schedule(gatherMs),
    });
    return { requests: openSocket(), news };
  }

  #concerns({ type, data }: NetlinkMessage): boolean {
    if (type === RTM.NEWNEIGH || type === RTM.DELNEIGH)
      return readNeighbor(data).some(({ index }) => this.#indexes.has(index));
    if (type === RTM.NEWADDR || type === RTM.DELADDR)
      return readOwnAddress(data).some(({ index }) => this.#indexes.has(index));
    if (type !== RTM.NEWLINK && type !== RTM.DELLINK) return false;
    const { name, index } = readLink(data);
    return this.#names.has(name) || this.#indexes.has(index);
  }

  #schedule(delayMs: number): void {
    this.#isStale = true;
    if (this.#isReading) return;
    this.#timer ??= setTimeout(() => void this.#read(), delayMs);
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    while (this.#isStale && this.#names.size > 0) {
      this.#isStale = false;
      this.#sockets ??= this.#open();
      const { requests } = this.#sockets;
      const names = this.#names;
      const links: Link[] = [];
      for (const name of names) links.push(...(await readLinkOf(requests, name)));
      const own = (await dump(requests, RTM.GETADDR, addressesHeader())).flatMap(readOwnAddress);
      const entries = (await dump(requests, RTM.GETNEIGH, neighborsHeader())).flatMap(readNeighbor);
      this.#indexes = new Set(links.map(({ index }) => index));
      this.#reported = names;
      this.#onChange(new Map(links.map((link) => [link.name, seen(link, own, entries)])));
    }
    this.#isReading = false;
    if (this.#names.size === 0) this.close();
  }
}

function seen({ index, isRunning }: Link, own: readonly OwnAddress[], entries: readonly NeighborEntry[]): SeenLink {
  const isHere = (each: OwnAddress | NeighborEntry): boolean => each.index === index && isOfLink(each.address);
  const ours = own.filter(isHere);
  // Another program of the node that sends advertisements may have made the node a neighbour of itself.
  const isOther = ({ address }: NeighborEntry): boolean => !ours.some((each) => each.address === address);
  const others = entries.filter((entry) => isHere(entry) && entry.isThere && isOther(entry));
  return {
    isRunning,
    ownAddresses: ours.filter(({ isReady }) => isReady).map(({ address }) => address),
    neighbors: others.map(({ address, isRouter }) => ({ address, isRouter })),
  };
}

function isOfLink(address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && isLinkLocal(ip);
}

async function dump(socket: NetlinkSocket, type: number, header: Buffer): Promise<readonly Buffer[]> {
  return (await exchange(socket, type, NLM.DUMP, [header], `rtnetlink request ${type}`)).map(({ data }) => data);
}

/** Empty if there is no link of that name. */
async function readLinkOf(socket: NetlinkSocket, name: string): Promise<readonly Link[]> {
  try {
    const links = await exchange(socket, RTM.GETLINK, 0, linkNamed(name), `link ${name}`);
    return links.map(({ data }) => readLink(data)).filter((link) => link.name === name);
  } catch (error) {
    if (error instanceof NetlinkError && error.code === 'ENODEV') return [];
    throw error;
  }
}
