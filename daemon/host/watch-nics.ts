/** Tells of changes of some interfaces, their addresses and routes, by name, also of those that are not there yet. */
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import type { KernelEvent, KernelEvents } from './kernel-events.ts';
import { readMultipath } from '../../lib/netlink/multipath.ts';

/** Gathers a burst of messages, of which our own changes cause some too. */
const gatherMs = 50;

/** Returns how to stop. */
export function watchNics(
  kernelEvents: Pick<KernelEvents, 'subscribe'>,
  names: () => ReadonlySet<string>,
  onChange: () => void,
): () => void {
  const known = new Map<number, string>();
  let timer: NodeJS.Timeout | undefined;
  const isNamed = (index: number): boolean => {
    const name = known.get(index);
    // One whose name was never told may be any.
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
  const tell = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      onChange();
    }, gatherMs);
  };
  const unsubscribe = kernelEvents.subscribe({
    onEvents: (events) => {
      // Every one is looked at, for the names it may tell.
      if (names().size > 0 && events.filter(concerns).length > 0) tell();
    },
    onLoss: tell,
  });
  return () => {
    clearTimeout(timer);
    unsubscribe();
  };
}
