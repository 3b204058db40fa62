/** Watches for changes of interfaces by name, including ones that do not exist yet, and of their addresses and routes. */
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import type { KernelEvent, KernelEvents } from './kernel-events.ts';
import { readMultipath } from '../../lib/netlink/multipath.ts';

/** Joins a burst of messages into one report; our own changes cause some of them. */
const gatherMs = 50;

/** Returns a function that unsubscribes. */
export function watchNics(
  kernelEvents: Pick<KernelEvents, 'subscribe'>,
  names: () => ReadonlySet<string>,
  onChange: () => void,
): () => void {
  const known = new Map<number, string>();
  let timer: NodeJS.Timeout | undefined;
  const isNamed = (index: number): boolean => {
    const name = known.get(index);
    // An interface with an unknown name may be one of them.
    return name === undefined || names().has(name);
  };
  const concerns = (event: KernelEvent): boolean => {
    const { type, data } = event;
    if (type === RTM.NEWLINK || type === RTM.DELLINK) {
      const { index, name } = event.link;
      if (type === RTM.NEWLINK) known.set(index, name);
      else known.delete(index);
      return names().has(name);
    }
    if (type === RTM.NEWADDR || type === RTM.DELADDR) return isNamed(wire.readU32(data, 4));
    if (type !== RTM.NEWROUTE && type !== RTM.DELROUTE) return false;
    return readMultipath(data).some(({ hops }) => hops.some(({ index }) => isNamed(index)));
  };
  const report = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      onChange();
    }, gatherMs);
  };
  const unsubscribe = kernelEvents.subscribe({
    onEvents: (events) => {
      // `concerns` must see every event, because it learns the names of interfaces from them.
      if (names().size > 0 && events.filter(concerns).length > 0) report();
    },
    onLoss: report,
  });
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
}
