/** Tells of changes of some interfaces, their addresses and routes, by name, also of those that are not there yet. */
import { readLink } from '../../lib/netlink/link.ts';
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import { type NetlinkMessage, openSocket } from '../../lib/netlink/socket.ts';
import { readMultipath } from './multipath-codec.ts';

const groups = [1 /* link */, 5 /* v4 addresses */, 7 /* v4 routes */, 9 /* v6 addresses */, 11 /* v6 routes */];
/** Gathers a burst of messages, of which our own changes cause some too. */
const gatherMs = 50;

/** Returns how to stop. */
export function watchNics(names: () => ReadonlySet<string>, onChange: () => void): () => void {
  const socket = openSocket();
  const known = new Map<number, string>();
  let timer: NodeJS.Timeout | undefined;
  const isNamed = (index: number): boolean => {
    const name = known.get(index);
    // One whose name was never told may be any.
    return name === undefined || names().has(name);
  };
  const concerns = ({ type, data }: NetlinkMessage): boolean => {
    if (type === RTM.NEWLINK || type === RTM.DELLINK) {
      const { index, name } = readLink(data);
      if (type === RTM.NEWLINK) known.set(index, name);
      else known.delete(index);
      return names().has(name);
    }
    if (type === RTM.NEWADDR || type === RTM.DELADDR) return isNamed(wire.readU32(data, 4));
    return readMultipath(data).some(({ hops }) => hops.some(({ index }) => isNamed(index)));
  };
  const tell = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      onChange();
    }, gatherMs);
  };
  socket.on('message', (messages) => {
    // Every message is looked at, for the names it may tell.
    if (names().size > 0 && messages.filter(concerns).length > 0) tell();
  });
  socket.on('invalid', tell);
  // ENOBUFS: more changes than the buffer holds.
  socket.on('error', tell);
  for (const group of groups) socket.addMembership(group);
  return () => {
    clearTimeout(timer);
    socket.close();
  };
}
