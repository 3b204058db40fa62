// Routes of neighbours, before any policy. gobgpd reports every UPDATE as an event, but reports nothing when it drops a neighbour's
// routes by itself: at the end of a session, of a restart time, of a long-lived stale time. Therefore the routes are listed whenever
// that may have happened, and missing routes are withdrawn here. For this only the keys of routes are kept.
//
// The stream of events is paused while routes are listed or a listener works: no more than one batch is in memory. The
// order of a list and the events around it does not matter, because the last event about a prefix is never older than the list.
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalNeighbor } from './address.ts';
import { GobgpError, GobgpRejected, GobgpUnsupported } from './errors.ts';
import { type AddressFamily, familyNumber } from './nlri.ts';
import {
  changeOfEvent,
  changeOfListed,
  type EventPathMessage,
  type ListedPathMessage,
  type RouteChange,
  withdrawal,
} from './route-messages.ts';
import { routeKey, routeOfKey } from './route-nlri.ts';
import type { Transport } from './transport.ts';

/** Receives changes in order; the next batch waits for a returned promise, which must not be rejected. */
export type RouteListener = (changes: readonly RouteChange[]) => Promise<void> | void;

export interface RouteWatch {
  /** Resolves when the listener has received all existing routes. */
  readonly ready: Promise<void>;
  /** Resolves when changes are no longer reported. */
  readonly ended: Promise<GobgpError>;
  close(): void;
}

const batchSize = 500;
/** How long a stale route may be reported after gobgpd has dropped it. */
const staleLookMs = 2000;

interface WatchMessage {
  readonly peer?: {
    readonly type: string;
    readonly peer?: {
      readonly conf?: { readonly neighbor_address: string; readonly local_asn: number } | null;
      readonly state?: { readonly session_state: string } | null;
    } | null;
  } | null;
  readonly table?: { readonly paths: readonly EventPathMessage[] } | null;
}

/** @throws GobgpUnsupported | GobgpInvalidArgument */
export function watchRoutes(
  transport: Transport,
  addresses: readonly string[],
  families: readonly AddressFamily[],
  listener: RouteListener,
): RouteWatch {
  if (transport.generation === 'v3') throw new GobgpUnsupported('watching routes');
  return new Watch(transport, addresses.map(canonicalNeighbor), families, listener);
}

class Watch implements RouteWatch {
  readonly ready: Promise<void>;
  readonly ended: Promise<GobgpError>;
  readonly #transport: Transport;
  readonly #families: readonly AddressFamily[];
  readonly #listener: RouteListener;
  /** The keys of the routes of each neighbour that the listener has. */
  readonly #known: ReadonlyMap<string, Set<string>>;
  /** Our AS towards each neighbour. */
  readonly #ownAsn = new Map<string, number>();
  readonly #closed = new AbortController();
  readonly #failure = Promise.withResolvers<GobgpError>();
  readonly #ready = Promise.withResolvers<void>();
  /** The last asynchronous work; later messages wait for it. */
  #work: Promise<void> | undefined;

  constructor(
    transport: Transport,
    addresses: readonly string[],
    families: readonly AddressFamily[],
    listener: RouteListener,
  ) {
    this.#transport = transport;
    this.#families = families;
    this.#listener = listener;
    this.#known = new Map(addresses.map((address) => [address, new Set<string>()]));
    // gobgpd accepts one address as a filter; of several it would use the last.
    const filter = { type: 'FILTER_ADJ_IN', peer_address: addresses.length === 1 ? addresses[0] : '' };
    const stream = transport.follow(
      'WatchEvent',
      { peer: {}, table: { filters: [filter] }, batch_size: batchSize },
      (message) => this.#take(message),
    );
    this.ended = Promise.race([stream.ended, this.#failure.promise]);
    this.ready = Promise.race([this.#ready.promise, this.ended.then(() => {})]);
    this.#closed.signal.addEventListener('abort', () => stream.cancel(), { once: true });
  }

  close(): void {
    this.#closed.abort();
  }

  #take(message: WatchMessage): Promise<void> | void {
    const changes = (message.table?.paths ?? []).flatMap((path) => changeOfEvent(path, this.#families) ?? []);
    const { neighbor_address: address = '', local_asn: ownAsn = 0 } = message.peer?.peer?.conf ?? {};
    if (ownAsn > 0) this.#ownAsn.set(address, ownAsn);
    const isDown = message.peer?.peer?.state?.session_state !== 'SESSION_ESTABLISHED';
    if (changes.length > 0) return this.#work ? this.#later(() => this.#give(changes)) : this.#give(changes);
    // The stream is registered now, so no change can be lost between the lists and the first event.
    if (message.peer?.type === 'EVENT_END_OF_INIT') return this.#later(() => this.#begin());
    if (message.peer?.type === 'EVENT_STATE' && isDown && this.#known.has(address))
      return this.#later(() => this.#compare(address));
  }

  async #begin(): Promise<void> {
    for (const address of this.#known.keys()) await this.#compare(address);
    this.#ready.resolve();
  }

  /** Reports new routes to the listener, and withdraws known routes that no longer exist. */
  async #compare(address: string): Promise<void> {
    const known = this.#known.get(address) ?? new Set();
    const gone = new Set(known);
    let isStale = false;
    for (const family of this.#families) {
      const listed = new Batches((changes) => this.#give(changes));
      await this.#list(address, family, (path) => {
        const change = changeOfListed(address, family, path);
        // gobgpd lists routes that it has refused as a loop, but reports them in no event.
        if (!change || change.attributes.asPath.includes(this.#ownAsn.get(address) ?? 0)) return;
        isStale ||= path.stale;
        const key = routeKey(change);
        gone.delete(key);
        if (!known.has(key)) return listed.add(change);
      });
      await listed.flush();
    }
    const withdrawn = new Batches((changes) => this.#give(changes));
    for (const key of gone) await withdrawn.add(withdrawal(address, routeOfKey(key)));
    await withdrawn.flush();
    if (isStale as boolean) void this.#lookAgain(address);
  }

  async #list(
    address: string,
    family: AddressFamily,
    onPath: (path: ListedPathMessage) => Promise<void> | void,
  ): Promise<void> {
    const request = {
      table_type: 'TABLE_ADJ_IN',
      name: address,
      family: familyNumber(family),
      enable_only_binary: true,
    };
    try {
      await this.#transport.each('ListPath', request, (message) => {
        const [path] = (message as { destination: { paths: ListedPathMessage[] } }).destination.paths;
        return path && onPath(path);
      });
    } catch (error) {
      // A neighbour that gobgpd does not know, or not with this family, has no routes.
      if (!(error instanceof GobgpRejected)) throw error;
    }
  }

  async #lookAgain(address: string): Promise<void> {
    try {
      await sleep(staleLookMs, undefined, { signal: this.#closed.signal, ref: false });
    } catch {
      return;
    }
    await this.#later(() => this.#compare(address));
  }

  #give(changes: readonly RouteChange[]): Promise<void> | void {
    const wanted = changes.filter((change) => {
      const known = this.#known.get(change.peer);
      if (change.isWithdrawn) return known?.delete(routeKey(change)) ?? false;
      known?.add(routeKey(change));
      return known !== undefined;
    });
    if (wanted.length > 0) return this.#listener(wanted);
  }

  #later(task: () => Promise<void> | void): Promise<void> {
    const work = this.#after(this.#work, task);
    this.#work = work;
    void work.then(() => {
      if (this.#work === work) this.#work = undefined;
    });
    return work;
  }

  async #after(before: Promise<void> | undefined, task: () => Promise<void> | void): Promise<void> {
    await before;
    if (this.#closed.signal.aborted) return;
    try {
      await task();
    } catch (error) {
      if (!(error instanceof GobgpError)) throw error;
      this.#failure.resolve(error);
      this.close();
    }
  }
}

class Batches {
  readonly #give: (changes: readonly RouteChange[]) => Promise<void> | void;
  #changes: RouteChange[] = [];

  constructor(give: (changes: readonly RouteChange[]) => Promise<void> | void) {
    this.#give = give;
  }

  add(change: RouteChange): Promise<void> | void {
    if (this.#changes.push(change) >= batchSize) return this.flush();
  }

  flush(): Promise<void> | void {
    const changes = this.#changes;
    this.#changes = [];
    if (changes.length > 0) return this.#give(changes);
  }
}
