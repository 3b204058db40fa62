/**
 * Sets the MAC addresses of the next hops of tunnels in a userspace Open vSwitch. Open vSwitch resolves them itself, but keeps the first
 * answer for fifteen minutes: no gratuitous request, no silence and no answer to the kernel changes that, so a router or node that
 * changes its MAC address would be cut off for that time. The kernel knows better, because the bridge is one of its links as well. And this
 * node may be the one that has changed its MAC address: it resolves each other end once, and their kernels learn its address from that.
 */
import type { Logger } from '../../lib/run/logger.ts';
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import { type Events, openEvents } from '../../lib/netlink/events.ts';
import { type NetlinkMessage, Protocol } from '../../lib/netlink/socket.ts';
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { callAll } from '../../lib/ovn/unixctl.ts';
import { resolveNeighbour } from '../host/neighbours.ts';
import type { Address } from '../host/rtnetlink-codec.ts';

export interface TunnelNeighboursOptions {
  /** The bridge with the tunnel address; undefined if no bridge has it, or if the datapath is the kernel's. */
  readonly bridge: () => { readonly name: string; readonly index: number } | undefined;
  /** Other ends of the tunnels, and addresses of all links; asked only if there is a bridge. */
  readonly ends: () => readonly string[];
  readonly addresses: () => Promise<readonly Address[]>;
  /** Folder of the control socket of ovs-vswitchd; undefined for a remote one. */
  readonly folder: string | undefined;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

const neighbourGroup = 3;
const NDA_DST = 1;
const NDA_LLADDR = 2;
const answerTimeoutMs = 2000;
/** Number of neighbours to resolve at a time, and the time to wait for one. */
const asked = { atOnce: 16, patienceMs: 3000 };
/** States with a usable MAC address; incomplete and failed entries have none. */
const known = 0x02 /* reachable */ | 0x04 /* stale */ | 0x08 /* delay */ | 0x80; /* permanent */

export class TunnelNeighbours {
  readonly #options: TunnelNeighboursOptions;
  readonly #events: Events;
  /** IP address → MAC address that the kernel reported last. */
  readonly #macs = new Map<string, string>();
  /** Other ends that were resolved once, with the index of the bridge. */
  readonly #resolved = new Set<string>();
  /** Calls run one after the other, so that the kernel's last report wins. */
  #calls: Promise<void> = Promise.resolve();

  constructor(options: TunnelNeighboursOptions) {
    this.#options = options;
    this.#events = openEvents({
      protocol: Protocol.ROUTE,
      groups: options.folder === undefined ? [] : [neighbourGroup],
      onMessages: (messages) => {
        for (const message of messages) this.#onMessage(message);
      },
      // The next report of each neighbour is set, whatever was known.
      onLoss: () => this.#macs.clear(),
    });
  }

  close(): void {
    this.#events.close();
  }

  /** Resolves other ends that were not resolved yet. To be called after each change of the tunnels and of the bridge. */
  resolve(): void {
    const bridge = this.#options.bridge();
    if (bridge === undefined) return;
    const ends = this.#options.ends().filter((ip) => !this.#resolved.has(`${bridge.index} ${ip}`));
    for (const ip of ends) this.#resolved.add(`${bridge.index} ${ip}`);
    if (ends.length > 0) void this.#resolve(bridge.index, ends);
  }

  async #resolve(index: number, ends: readonly string[]): Promise<void> {
    try {
      const own = (await this.#options.addresses()).filter((one) => one.index === index);
      const links = own.flatMap(({ address, prefix }) => parseCidr(`${address}/${prefix}`) ?? []);
      const near = ends.filter((ip) => links.some((link) => cidrContains(link, parseIp(ip)!)));
      for (let at = 0; at < near.length; at += asked.atOnce) {
        const some = near.slice(at, at + asked.atOnce);
        await Promise.all(some.map((ip) => resolveNeighbour(index, ip, AbortSignal.timeout(asked.patienceMs))));
      }
    } catch (error) {
      // The bridge may be gone by now.
      for (const ip of ends) this.#resolved.delete(`${index} ${ip}`);
      this.#options.log.warn({ err: error }, 'the MAC addresses of the other ends of tunnels could not be resolved');
    }
  }

  #onMessage({ type, data }: NetlinkMessage): void {
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
      // A switch that is starting has no entries and resolves the address itself.
      this.#macs.delete(ip);
      log.warn({ err: error, ip, mac }, 'the MAC address of a next hop of tunnels could not be set in Open vSwitch');
    }
  }
}
