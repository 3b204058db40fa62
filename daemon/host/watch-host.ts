/** Tells of changes that the kernel makes to what is ours, so that what others undo is done again. */
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import type { KernelEvent, KernelEvents } from './kernel-events.ts';
import { readMultipath } from '../../lib/netlink/multipath.ts';
import { type PlacedRoute, readPlacedRoute } from './rtnetlink-codec.ts';

/** Of the settings, such as forwarding, that hold for all links (NETCONFA_IFINDEX_ALL, which is -1). */
const allLinks = 0xffffffff;
const NETCONFA_IFINDEX = 1;

export interface HostWatch {
  /** Links of ours, by name. */
  readonly names: readonly string[];
  /** Indexes of other links that routes of ours use: IPv4 routes go silently when their link goes down. */
  readonly used: () => ReadonlySet<number>;
  /** Whether a route is one of ours, or to the same place: the kernel does not tell of a route that another one replaces. */
  readonly concerns?: (route: PlacedRoute) => boolean;
  /** Whether a route of ours has no link yet: then it may be one that just got a network. */
  readonly isWaiting?: () => boolean;
  /** After each change of those links, their addresses, routes and settings, of rules and of settings of all links, and where the kernel lost messages. */
  readonly onChange: () => void;
  /** After a change of addresses of any link. */
  readonly onAddress: () => void;
  /** Any link that is gone, by name; not told where the kernel lost messages. */
  readonly onGone?: (name: string) => void;
}

/** Of other links nothing is told: pods come and go. */
export function watchHost(
  kernelEvents: Pick<KernelEvents, 'subscribe'>,
  { names, used, concerns: concernsRoute, isWaiting, onChange, onAddress, onGone }: HostWatch,
): () => void {
  const ours = new Map<string, number>();
  const isOurs = (index: number): boolean => ours.size < names.length || [...ours.values()].includes(index);
  const isOursOrAll = (index: number): boolean => index === allLinks || [...ours.values()].includes(index);
  const concerns = (event: KernelEvent): boolean => {
    const { type, data } = event;
    if (type === RTM.NEWRULE || type === RTM.DELRULE) return true;
    if (type === RTM.NEWLINK || type === RTM.DELLINK) {
      const { link } = event;
      if (names.includes(link.name)) ours.set(link.name, link.index);
      return names.includes(link.name) || used().has(link.index);
    }
    if (type === RTM.NEWADDR || type === RTM.DELADDR) return isOurs(wire.readU32(data, 4));
    if (type === RTM.NEWNETCONF) return names.length > 0 && isOursOrAll(settingOf(data));
    if (concernsRoute?.(readPlacedRoute(data)) === true) return true;
    const hops = readMultipath(data).flatMap((route) => route.hops);
    if (type === RTM.NEWROUTE && isWaiting?.() === true && hops.some(({ gateway }) => gateway === undefined))
      return true;
    return hops.some(({ index }) => isOurs(index) || used().has(index));
  };
  return kernelEvents.subscribe({
    onEvents: (events) => {
      // Every one is looked at, for the indexes it may tell.
      if (events.filter(concerns).length > 0) onChange();
      if (events.some(({ type }) => type === RTM.NEWADDR || type === RTM.DELADDR)) onAddress();
      if (onGone === undefined) return;
      for (const event of events) if (event.type === RTM.DELLINK) onGone(event.link.name);
    },
    onLoss: () => {
      onChange();
      onAddress();
    },
  });
}

/** Index of the link that a message of a setting is about. */
function settingOf(data: Buffer): number {
  // struct netconfmsg is one byte, the attributes after it begin at a multiple of four.
  const index = wire.readAttributes(data.subarray(4)).get(NETCONFA_IFINDEX);
  return index === undefined ? 0 : wire.readU32(index);
}
