import { RTM } from '../../lib/netlink/message.ts';
import { bgpProtocol, type MultipathRoute, readMultipath } from '../../lib/netlink/multipath.ts';
import { type NodeNetwork, nodeNetworkOf } from '../../lib/netlink/node-network.ts';
import type { KernelEvent, KernelEvents } from './kernel-events.ts';
import { routeProtocol } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';

/** One change causes several messages. */
const gatherMs = 50;

/** Networks on the links of the node and next hops of its own routes, read again when the kernel reports a change. */
export class ConnectedNetworks {
  readonly #netlink: Pick<Rtnetlink, 'multipathRoutes'>;
  #now: NodeNetwork = { connected: [], nextHops: [] };
  #timer: NodeJS.Timeout | undefined;

  constructor(netlink: Pick<Rtnetlink, 'multipathRoutes'>) {
    this.#netlink = netlink;
  }

  get now(): NodeNetwork {
    return this.#now;
  }

  /** Returns whether they have changed. @throws NetlinkError */
  async refresh(): Promise<boolean> {
    const before = JSON.stringify(this.#now);
    this.#now = nodeNetworkOf((await this.#netlink.multipathRoutes()).filter(isOfOthers));
    return JSON.stringify(this.#now) !== before;
  }

  /** Calls `onChange` after each change. Returns a function that unsubscribes. */
  follow(kernelEvents: Pick<KernelEvents, 'subscribe'>, onChange: () => void): () => void {
    const again = (): void => {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        void this.refresh().then((isChanged) => isChanged && onChange());
      }, gatherMs);
    };
    const stop = kernelEvents.subscribe({ onEvents: (events) => events.some(concerns) && again(), onLoss: again });
    return () => {
      stop();
      clearTimeout(this.#timer);
    };
  }
}

/** Routes to Subnets and those of BGP come and go by the hundred, and lead to networks that are known anyway. */
function isOfOthers({ protocol }: Pick<MultipathRoute, 'protocol'>): boolean {
  return protocol !== routeProtocol && protocol !== bgpProtocol;
}

function concerns({ type, data }: KernelEvent): boolean {
  if (type === RTM.NEWADDR || type === RTM.DELADDR) return true;
  const isRoute = type === RTM.NEWROUTE || type === RTM.DELROUTE;
  return isRoute && readMultipath(data).some(isOfOthers);
}
