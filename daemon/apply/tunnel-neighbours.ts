/**
 * Tells Open vSwitch in user space where the next hops of tunnels are. It resolves their addresses by itself, and keeps what it heard first for
 * fifteen minutes: no gratuitous request, no silence and no answer to the kernel changes that, so that a router or a node that
 * comes with another MAC address is cut off for so long. The kernel knows better, for the bridge is one of its links as well. And this node
 * may be the one that comes with another MAC address: it asks for each other once, by which their kernels hear of it.
 */
import type { Logger } from '../../lib/run/logger.ts';
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import { openSocket, type NetlinkMessage } from '../../lib/netlink/socket.ts';
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { callAll } from '../../lib/ovn/unixctl.ts';
import { whoAnswers } from '../host/neighbours.ts';
import type { Address } from '../host/rtnetlink-codec.ts';

export interface TunnelNeighboursOptions {
  /** The bridge with the tunnel address; undefined where it is on none, or not with this datapath. */
  readonly bridge: () => { readonly name: string; readonly index: number } | undefined;
  /** Where tunnels lead, and which addresses the bridge has; asked only where there is a bridge. */
  readonly ends: () => readonly string[];
  readonly addresses: () => Promise<readonly Address[]>;
  /** Of the control socket of ovs-vswitchd; undefined for one elsewhere. */
  readonly folder: string | undefined;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

const neighbourGroup = 3;
const NDA_DST = 1;
const NDA_LLADDR = 2;
const answerTimeoutMs = 2000;
/** Neighbours that are asked for at a time, and how long one is waited for. */
const asked = { atOnce: 16, patienceMs: 3000 };
/** Lost and failed ones are not told: they say nothing of where the neighbour is. */
const known = 0x02 /* reachable */ | 0x04 /* stale */ | 0x08 /* delay */ | 0x80; /* permanent */

export class TunnelNeighbours {
  readonly #options: TunnelNeighboursOptions;
  readonly #socket = openSocket();
  /** IP address → MAC address as the kernel said last. */
  readonly #macs = new Map<string, string>();
  /** Those that were asked for, with the index of the bridge. */
  readonly #greeted = new Set<string>();
  /** One call after the other: the last word is the kernel's last. */
  #calls: Promise<void> = Promise.resolve();

  constructor(options: TunnelNeighboursOptions) {
    this.#options = options;
    this.#socket.on('message', (messages) => {
      for (const message of messages) this.#hear(message);
    });
    // Messages were lost: the next of each neighbour is told as if it were the first.
    this.#socket.on('error', () => this.#macs.clear());
    if (options.folder !== undefined) this.#socket.addMembership(neighbourGroup);
  }

  close(): void {
    this.#socket.close();
  }

  /** Asks for those that tunnels lead to and that were not asked for yet. To be called after each change of them and of the bridge. */
  greet(): void {
    const bridge = this.#options.bridge();
    if (bridge === undefined) return;
    const ends = this.#options.ends().filter((ip) => !this.#greeted.has(`${bridge.index} ${ip}`));
    for (const ip of ends) this.#greeted.add(`${bridge.index} ${ip}`);
    if (ends.length > 0) void this.#greet(bridge.index, ends);
  }

  async #greet(index: number, ends: readonly string[]): Promise<void> {
    try {
      const own = (await this.#options.addresses()).filter((one) => one.index === index);
      const links = own.flatMap(({ address, prefix }) => parseCidr(`${address}/${prefix}`) ?? []);
      const near = ends.filter((ip) => links.some((link) => cidrContains(link, parseIp(ip)!)));
      for (let at = 0; at < near.length; at += asked.atOnce) {
        const some = near.slice(at, at + asked.atOnce);
        await Promise.all(some.map((ip) => whoAnswers(index, ip, AbortSignal.timeout(asked.patienceMs))));
      }
    } catch (error) {
      // The bridge may be gone again.
      for (const ip of ends) this.#greeted.delete(`${index} ${ip}`);
      this.#options.log.warn({ err: error }, 'the other ends of tunnels could not be asked for');
    }
  }

  #hear({ type, data }: NetlinkMessage): void {
    const bridge = this.#options.bridge();
    if (bridge === undefined || wire.readU32(data, 4) !== bridge.index) return;
    const attributes = wire.readAttributes(data.subarray(12));
    const [address, hardware] = [attributes.get(NDA_DST), attributes.get(NDA_LLADDR)];
    if (address === undefined) return;
    const ip = wire.ipText(address);
    if (type === RTM.DELNEIGH) this.#macs.delete(ip);
    if (type !== RTM.NEWNEIGH || hardware?.length !== 6 || (wire.readU16(data, 8) & known) === 0) return;
    const mac = wire.macText(hardware);
    const before = this.#macs.get(ip);
    if (before === mac) return;
    this.#macs.set(ip, mac);
    this.#calls = this.#calls.then(() => this.#set(bridge.name, ip, mac, before));
  }

  async #set(bridge: string, ip: string, mac: string, before: string | undefined): Promise<void> {
    const { folder = '', log } = this.#options;
    try {
      await callAll('ovs-vswitchd', folder, 'tnl/neigh/set', [bridge, ip, mac], answerTimeoutMs);
      if (before !== undefined) log.info({ ip, before, mac }, 'a next hop of tunnels has another MAC address');
    } catch (error) {
      // A switch that starts knows none, and asks by itself.
      this.#macs.delete(ip);
      log.warn({ err: error, ip, mac }, 'Open vSwitch could not be told where a next hop of tunnels is');
    }
  }
}
