/** Watches the node's own networks and next hops, which are read again after a kernel message about an address or a route. */
import { type Events, openEvents } from '../../lib/netlink/events.ts';
import * as wire from '../../lib/netlink/message.ts';
import { RTM } from '../../lib/netlink/message.ts';
import { bgpProtocol, readMultipath } from '../../lib/netlink/multipath.ts';
import { type NodeNetwork, nodeNetworkOf } from '../../lib/netlink/node-network.ts';
import {
  type NetlinkMessage,
  type NetlinkSocket,
  openSocket,
  patientDump,
  Protocol,
} from '../../lib/netlink/socket.ts';

/** RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV6_ROUTE */
const groups = [5, 7, 9, 11];
/** One change causes several messages. */
const gatherMs = 50;

export class NodeNetworkWatch {
  /** Resolves after the first reading. @throws NetlinkError */
  readonly known: Promise<void>;
  readonly #onChange: () => void;
  readonly #requests: NetlinkSocket = openSocket();
  readonly #news: Events;
  #network: NodeNetwork = { connected: [], nextHops: [] };
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #isStale = false;
  #isClosed = false;

  /** @param onChange is called after each change of the network */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#news = openEvents({
      protocol: Protocol.ROUTE,
      groups,
      onMessages: (messages) => {
        if (messages.some(concerns)) this.#schedule();
      },
      onLoss: () => this.#schedule(),
    });
    this.known = this.#read();
  }

  get network(): NodeNetwork {
    return this.#network;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#isClosed = true;
    this.#news.close();
    // A reading in progress closes it when it ends.
    if (!this.#isReading) this.#requests.close();
  }

  #schedule(): void {
    this.#isStale = true;
    if (this.#isReading || this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.#read(), gatherMs);
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    this.#isReading = true;
    this.#isStale = false;
    const header = wire.routeHeader({ family: 0, prefix: 0, table: 0, protocol: 0, scope: 0, type: 0 });
    const routes = await patientDump(this.#requests, RTM.GETROUTE, header, 'dump of routes');
    const network = nodeNetworkOf(routes.flatMap(({ data }) => readMultipath(data)));
    const isChanged = JSON.stringify(network) !== JSON.stringify(this.#network);
    this.#network = network;
    this.#isReading = false;
    if (this.#isClosed) this.#requests.close();
    else {
      if (isChanged) this.#onChange();
      if (this.#isStale as boolean) this.#schedule();
    }
  }
}

/** BGP routes change in large numbers and do not affect the node's own network. */
function concerns({ type, data }: NetlinkMessage): boolean {
  if (type !== RTM.NEWROUTE && type !== RTM.DELROUTE) return true;
  return readMultipath(data).some(({ protocol }) => protocol !== bgpProtocol);
}
