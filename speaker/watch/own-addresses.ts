/** Watches the node's own addresses. Kernel messages only trigger a reading, which provides the values. */
import { isLinkLocal, parseIp } from '../../lib/net/ip.ts';
import { RTM } from '../../lib/netlink/message.ts';
import { type Events, openEvents } from '../../lib/netlink/events.ts';
import { type NetlinkSocket, openSocket, patientDump, Protocol } from '../../lib/netlink/socket.ts';
import { allAddressesHeader, readAnyAddress } from './neighbor-codec.ts';

/** RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR */
const groups = [5, 9];
/** One change causes several messages. */
const gatherMs = 10;

export class OwnAddresses {
  /** All addresses except link-local ones; always the same set. */
  readonly all: ReadonlySet<string>;
  /** Resolves after the first reading. */
  readonly ready: Promise<void>;
  readonly #all = new Set<string>();
  readonly #onChange: () => void;
  readonly #requests: NetlinkSocket = openSocket();
  readonly #news: Events;
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isStale = false;
  #isClosed = false;

  /** @param onChange is called after each change, not after the first reading */
  constructor(onChange: () => void) {
    this.all = this.#all;
    this.#onChange = onChange;
    this.#news = openEvents({
      protocol: Protocol.ROUTE,
      groups,
      onMessages: (messages) => {
        if (messages.some(({ type }) => type === RTM.NEWADDR || type === RTM.DELADDR)) this.#schedule();
      },
      onLoss: () => this.#schedule(),
    });
    this.ready = this.#read().then(() => {});
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#news.close();
    // A reading in progress closes it when it ends.
    if (!this.#isReading) this.#requests.close();
  }

  #schedule(): void {
    this.#isStale = true;
    if (this.#isReading || this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.#look(), gatherMs);
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    if (await this.#read()) this.#onChange();
  }

  /** @returns whether the addresses changed */
  async #read(): Promise<boolean> {
    this.#isReading = true;
    const before = new Set(this.#all);
    do {
      this.#isStale = false;
      const dump = await patientDump(this.#requests, RTM.GETADDR, allAddressesHeader(), 'addresses');
      const found = dump.flatMap(({ data }) => readAnyAddress(data)).filter(isOrdinary);
      this.#all.clear();
      for (const address of found) this.#all.add(address);
    } while ((this.#isStale as boolean) && !this.#isClosed);
    this.#isReading = false;
    if (this.#isClosed) this.#requests.close();
    return this.#all.symmetricDifference(before).size > 0;
  }
}

function isOrdinary(address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && !isLinkLocal(ip);
}
