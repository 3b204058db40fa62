/** Links that BgpPeers name, and the kernel's neighbours there. Messages of the kernel say when to look; what counts is what is then read. */
import { getSystemErrorName } from 'node:util';
import { createNetlink, type NetlinkMessage, type NetlinkSocket, parseError, Protocol } from 'netlink';
import { type Link, readLink } from '../../lib/netlink/link.ts';
import * as wire from '../../lib/netlink/message.ts';
import type { SeenLink } from '../state/neighbors.ts';
import {
  addressesHeader,
  type NeighborEntry,
  neighborsHeader,
  type OwnAddress,
  readNeighbor,
  readOwnAddress,
} from './neighbor-codec.ts';

const RTM = {
  NEWLINK: 16,
  DELLINK: 17,
  GETLINK: 18,
  NEWADDR: 20,
  DELADDR: 21,
  GETADDR: 22,
  NEWNEIGH: 28,
  DELNEIGH: 29,
  GETNEIGH: 30,
} as const;
const NLM = { ERROR: 2, DUMP: 0x300 } as const;
const IFLA_IFNAME = 3;
/** RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV6_IFADDR */
const groups = [1, 3, 9];
const requestMs = 5000;
/** One change comes as several messages. */
const gatherMs = 10;

export class LinkWatch {
  readonly #onChange: (links: ReadonlyMap<string, SeenLink>) => void;
  #names: ReadonlySet<string> = new Set();
  #indexes: ReadonlySet<number> = new Set();
  #sockets: { readonly requests: NetlinkSocket; readonly news: NetlinkSocket } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isStale = false;
  /** Names whose links `onChange` was told of. */
  #told: ReadonlySet<string> = new Set();

  /** @param onChange is told of the links that are there, after each change of them or of their neighbours */
  constructor(onChange: (links: ReadonlyMap<string, SeenLink>) => void) {
    this.#onChange = onChange;
  }

  /** Watches the links of these names. @returns whether `onChange` was told of all of them, as it will be soon otherwise */
  follow(names: ReadonlySet<string>): boolean {
    const isKnown = names.isSubsetOf(this.#told);
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
    // Whoever reads closes them when he is through.
    if (this.#isReading) return;
    this.#sockets?.requests.close();
    this.#sockets?.news.close();
    this.#sockets = undefined;
    this.#told = new Set();
  }

  #open(): { readonly requests: NetlinkSocket; readonly news: NetlinkSocket } {
    const open = () => createNetlink(Protocol.ROUTE, { ref: false, recvBufferSize: 1 << 20, sendBufferSize: 0 });
    const [requests, news] = [open(), open()];
    news.on('message', (messages) => {
      if (messages.some((message) => this.#concerns(message))) this.#schedule(gatherMs);
    });
    // ENOBUFS: more changes than the buffer holds.
    for (const event of ['invalid', 'error'] as const) news.on(event, () => this.#schedule(gatherMs));
    for (const group of groups) news.addMembership(group);
    return { requests, news };
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
      this.#told = names;
      this.#onChange(new Map(links.map((link) => [link.name, seen(link, own, entries)])));
    }
    this.#isReading = false;
    if (this.#names.size === 0) this.close();
  }
}

function seen({ index, isRunning }: Link, own: readonly OwnAddress[], entries: readonly NeighborEntry[]): SeenLink {
  const isHere = (each: OwnAddress | NeighborEntry): boolean => each.index === index && isLinkLocal(each.address);
  const ours = own.filter(isHere);
  // Somebody on the node who advertises too may have made the kernel its own neighbour.
  const isOther = ({ address }: NeighborEntry): boolean => !ours.some((each) => each.address === address);
  const others = entries.filter((entry) => isHere(entry) && entry.isThere && isOther(entry));
  return {
    isRunning,
    ownAddresses: ours.filter(({ isReady }) => isReady).map(({ address }) => address),
    neighbors: others.map(({ address, isRouter }) => ({ address, isRouter })),
  };
}

function isLinkLocal(address: string): boolean {
  return /^fe[89ab]/.test(address);
}

async function dump(socket: NetlinkSocket, type: number, header: Buffer): Promise<readonly Buffer[]> {
  return (await exchange(socket, type, NLM.DUMP, [header])).map(({ data }) => data);
}

/** None where there is none of that name. */
async function readLinkOf(socket: NetlinkSocket, name: string): Promise<readonly Link[]> {
  const body = [wire.linkHeader(0), wire.attribute(IFLA_IFNAME, wire.text(name))];
  const links = (await exchange(socket, RTM.GETLINK, 0, body)).map(({ data }) => readLink(data));
  return links.filter((link) => link.name === name);
}

/** @throws Error for any answer but that there is no such link */
async function exchange(
  socket: NetlinkSocket,
  type: number,
  flags: number,
  body: readonly Buffer[],
): Promise<readonly NetlinkMessage[]> {
  const [messages] = await socket.request(type, [...body], { flags, timeout: requestMs, checkError: false });
  const [first] = messages;
  if (first?.type !== NLM.ERROR) return messages;
  const { errno } = parseError(first.data, first.flags);
  const code = errno === 0 ? undefined : getSystemErrorName(errno);
  if (code !== undefined && code !== 'ENODEV') throw new Error(`rtnetlink request ${type}: ${code}`);
  return [];
}
