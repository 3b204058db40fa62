/** Tells of changes that the kernel makes to a link, so that what others undo is done again. */
import { createNetlink, Protocol, type NetlinkMessage } from 'netlink';
import * as wire from './netlink-message.ts';
import { readLink, readRoute, RTM } from './rtnetlink-codec.ts';

/** Multicast groups whose messages tell that links, addresses or routes changed. */
const groups = [1 /* link */, 5 /* v4 addresses */, 7 /* v4 routes */, 9 /* v6 addresses */, 11 /* v6 routes */];

/**
 * Calls back after each change of the link `name`, its addresses and its routes, and where the kernel lost messages.
 * Of other links nothing is told: pods come and go.
 */
export function watchLink(name: string, onChange: () => void): () => void {
  const socket = createNetlink(Protocol.ROUTE, { ref: false, recvBufferSize: 1 << 20, sendBufferSize: 0 });
  let index = 0;
  socket.on('message', (messages) => {
    let isOurs = false;
    for (const message of messages) {
      if (message.type === RTM.NEWLINK || message.type === RTM.DELLINK) {
        const link = readLink(message.data);
        if (link.name !== name) continue;
        index = link.index;
      } else if (!isAbout(message, index)) continue;
      isOurs = true;
    }
    if (isOurs) onChange();
  });
  socket.on('invalid', onChange);
  // ENOBUFS: more changes than the buffer holds.
  socket.on('error', onChange);
  for (const group of groups) socket.addMembership(group);
  return () => socket.close();
}

/** Whether an address or route message is about the link; any is, while its index is unknown. */
function isAbout({ type, data }: NetlinkMessage, index: number): boolean {
  if (index === 0) return true;
  if (type === RTM.NEWADDR || type === RTM.DELADDR) return wire.readU32(data, 4) === index;
  return readRoute(data).some((route) => route.index === index);
}
