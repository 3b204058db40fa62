/** Watches for changes of the daemon's parts of the host, so that changes by other programs can be undone. */
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import type { KernelEvent, KernelEvents } from './kernel-events.ts';
import { readMultipath } from '../../lib/netlink/multipath.ts';
import { type PlacedRoute, readPlacedRoute } from './rtnetlink-codec.ts';

/** Index in messages about settings, such as forwarding, of all links (NETCONFA_IFINDEX_ALL, which is -1). */
const allLinks = 0xffffffff;
const NETCONFA_IFINDEX = 1;

export interface HostWatch {
  /** Names of our links. */
  readonly names: () => readonly string[];
  /** Indexes of other links that our routes use: the kernel removes IPv4 routes silently when their link goes down. */
  readonly used: () => ReadonlySet<number>;
  /** Whether a route is one of the daemon, or has the destination of one: the kernel does not report that a route was replaced. */
  readonly concerns?: (route: PlacedRoute) => boolean;
  /** Netlink port of our own changes of routes and rules, which are not reported. */
  readonly ownPort?: number;
  /** Whether one of our routes has no link yet: then a link that gets a network may be its link. */
  readonly isWaiting?: () => boolean;
  /** Called after each change of our links, their addresses, routes and settings, of rules, of settings of all links, and when the kernel lost messages. */
  readonly onChange: () => void;
  /** Called after a change of addresses of any link. */
  readonly onAddress: () => void;
}

/** Changes of other links are not reported: pods come and go. Returns a function that unsubscribes. */
export function watchHost(
  kernelEvents: Pick<KernelEvents, 'subscribe'>,
  { names, used, concerns: concernsRoute, ownPort, isWaiting, onChange, onAddress }: HostWatch,
): () => void {
  const ours = new Map<string, number>();
  // Also while the index of one of them is not known.
  const isOurs = (index: number): boolean => names().some((name) => (ours.get(name) ?? index) === index);
  const isOursOrAll = (index: number): boolean => index === allLinks || [...ours.values()].includes(index);
  const concerns = (event: KernelEvent): boolean => {
    const { type, data } = event;
    if (type === RTM.NEWRULE || type === RTM.DELRULE) return event.port !== ownPort;
    if (type === RTM.NEWLINK || type === RTM.DELLINK) {
      const { link } = event;
      const isNamed = names().includes(link.name);
      if (isNamed) ours.set(link.name, link.index);
      return isNamed || used().has(link.index);
    }
    if (type === RTM.NEWADDR || type === RTM.DELADDR) return isOurs(wire.readU32(data, 4));
    if (type === RTM.NEWNETCONF) return names().length > 0 && isOursOrAll(settingOf(data));
    if (event.port === ownPort) return false;
    if (concernsRoute?.(readPlacedRoute(data)) === true) return true;
    const hops = readMultipath(data).flatMap((route) => route.hops);
    if (type === RTM.NEWROUTE && isWaiting?.() === true && hops.some(({ gateway }) => gateway === undefined))
      return true;
    return hops.some(({ index }) => isOurs(index) || used().has(index));
  };
  return kernelEvents.subscribe({
    onEvents: (events) => {
      // `concerns` must see every event, because it learns the indexes of our links from them.
      if (events.filter(concerns).length > 0) onChange();
      if (events.some(({ type }) => type === RTM.NEWADDR || type === RTM.DELADDR)) onAddress();
    },
    onLoss: () => {
      onChange();
      onAddress();
    },
  });
}

/** Reports the name of each link that is deleted, unless the kernel lost messages. Returns a function that unsubscribes. */
export function watchGoneLinks(
  kernelEvents: Pick<KernelEvents, 'subscribe'>,
  onGone: (name: string) => void,
): () => void {
  return kernelEvents.subscribe({
    onEvents: (events) => {
      for (const event of events) if (event.type === RTM.DELLINK) onGone(event.link.name);
    },
    onLoss: () => undefined,
  });
}

/** Index of the link that a message about a setting concerns. */
function settingOf(data: Buffer): number {
  // struct netconfmsg is one byte; the attributes begin at the next multiple of four.
  const index = wire.readAttributes(data.subarray(4)).get(NETCONFA_IFINDEX);
  return index === undefined ? 0 : wire.readU32(index);
}
