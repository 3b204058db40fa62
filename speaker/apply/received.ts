// The routes that routers announce, for the lifetime of one gobgpd process. In: changes from gobgpd. Out: `onChange` with all routes, once they are
// complete. When the set of watched peers changes, the known routes stay until the new watch is complete.
import type { GobgpClient, GobgpError, RouteChange, RouteWatch } from 'gobgp-js';
import type { Received, ReceivedRoute } from '../model/received.ts';

type Routes = Map<string, Map<string, ReceivedRoute>>;

export class ReceivedRoutes {
  readonly #client: GobgpClient;
  readonly #onChange: (received: Received) => void;
  readonly #onEnd: (error: GobgpError) => void;
  #addresses: string | undefined;
  /** The active watch, and the next watch until it is ready. */
  readonly #watches = new Set<RouteWatch>();
  #inUse: Routes | undefined;

  constructor(client: GobgpClient, onChange: (received: Received) => void, onEnd: (error: GobgpError) => void) {
    this.#client = client;
    this.#onChange = onChange;
    this.#onEnd = onEnd;
  }

  /** Sets the peers to watch. */
  follow(addresses: readonly string[]): void {
    // gobgpd 3 does not report received routes; the status of the instance says that the version is outdated.
    const wanted = this.#client.generation === 'v3' ? [] : addresses.toSorted();
    if (wanted.join(' ') === this.#addresses) return;
    this.#addresses = wanted.join(' ');
    const routes: Routes = new Map(wanted.map((address) => [address, new Map()]));
    const former = [...this.#watches];
    const use = (): void => {
      for (const watch of former) this.#end(watch);
      this.#inUse = routes;
      this.#onChange(routes);
    };
    if (wanted.length === 0) {
      use();
      return;
    }
    const watch = this.#client.watchRoutes(wanted, (changes) => this.#take(routes, changes));
    this.#watches.add(watch);
    void watch.ready.then(() => this.#watches.has(watch) && use());
    void watch.ended.then((error) => this.#watches.has(watch) && this.#onEnd(error));
  }

  close(): void {
    for (const watch of this.#watches) this.#end(watch);
  }

  #end(watch: RouteWatch): void {
    this.#watches.delete(watch);
    watch.close();
  }

  #take(routes: Routes, changes: readonly RouteChange[]): void {
    for (const { peer, prefix, attributes } of changes) {
      const ofPeer = routes.get(peer);
      if (attributes) {
        const { nextHop, asPath, communities, largeCommunities } = attributes;
        ofPeer?.set(prefix, { nextHop, asPath, communities: [...communities, ...largeCommunities] });
      } else ofPeer?.delete(prefix);
    }
    if (routes === this.#inUse) this.#onChange(routes);
  }
}
