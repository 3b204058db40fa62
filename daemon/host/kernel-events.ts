/**
 * Events of the kernel about links, addresses, routes, rules and settings of the current network namespace. Each message is received and
 * parsed once for all listeners; a pod causes a dozen of them.
 */
import { type Events, openEvents } from '../../lib/netlink/events.ts';
import { readLink, type Link } from '../../lib/netlink/link.ts';
import { type NetlinkMessage, Protocol } from '../../lib/netlink/socket.ts';

const groups = [
  1 /* link */, 5 /* v4 addresses */, 7 /* v4 routes */, 8 /* v4 rules */, 9 /* v6 addresses */, 11 /* v6 routes */,
  19 /* v6 rules */, 24 /* v4 settings */, 25 /* v6 settings */,
];

export class KernelEvent {
  /** RTM_NEWLINK … */
  readonly type: number;
  /** Netlink port of the socket whose request caused the event; 0 for the kernel itself. */
  readonly port: number;
  readonly data: Buffer;
  #link: Link | undefined;

  constructor({ type, port, data }: NetlinkMessage) {
    this.type = type;
    this.port = port;
    this.data = data;
  }

  /** Only for RTM_NEWLINK and RTM_DELLINK. */
  get link(): Link {
    return (this.#link ??= readLink(this.data));
  }
}

export interface KernelListener {
  readonly onEvents: (events: readonly KernelEvent[]) => void;
  /** Called if the kernel lost messages, or if one cannot be parsed: anything may have changed. */
  readonly onLoss: () => void;
}

export class KernelEvents {
  readonly #events: Events;
  readonly #listeners = new Set<KernelListener>();

  constructor() {
    this.#events = openEvents({
      protocol: Protocol.ROUTE,
      groups,
      onMessages: (messages) => {
        const events = messages.map((message) => new KernelEvent(message));
        for (const listener of this.#listeners) listener.onEvents(events);
      },
      onLoss: () => {
        for (const listener of this.#listeners) listener.onLoss();
      },
    });
  }

  /** Returns a function that unsubscribes. Events from just before may be reported, too. */
  subscribe(listener: KernelListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#events.close();
  }
}
