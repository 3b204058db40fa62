/**
 * Makes our routes in the kernel agree with the wanted ones. Our routes have a protocol number of their own, so any other route with that
 * number is removed, whatever its type, metric and next hops. A foreign route to the same destination stays and becomes a problem,
 * unless it replaced a route that this process had put there.
 */

import type { PlacedRoute, Route } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import type { Attempt, Requester } from './target.ts';

export interface WantedRoute {
  readonly route: Omit<Route, 'protocol' | 'metric'>;
  /** Code of the problem if the kernel refuses the route. */
  readonly code: string;
  readonly requester?: Requester;
}

const advice = 'look in "ip route" for a route of another program to the same network';
/** The kernel's default metric: IP6_RT_PRIO_USER for IPv6, 0 for IPv4. */
const defaultMetric = { v4: 0, v6: 1024 } as const;

export class OwnRoutes {
  readonly #netlink: Pick<Rtnetlink, 'setRoute' | 'deleteRoute'>;
  readonly #protocol: number;
  /** Keys of the routes that the last application left in place. */
  #placed: ReadonlySet<string> = new Set();
  #destinations: ReadonlySet<string> = new Set();

  constructor(netlink: Pick<Rtnetlink, 'setRoute' | 'deleteRoute'>, protocol: number) {
    this.#netlink = netlink;
    this.#protocol = protocol;
  }

  /** Whether a route to this destination is wanted in that table, so that a foreign one may be in its way. */
  isWanted({ table, destination }: Pick<Route, 'table' | 'destination'>): boolean {
    return this.#destinations.has(`${table} ${destination}`);
  }

  async set(wanted: readonly WantedRoute[], present: readonly PlacedRoute[], attempt: Attempt): Promise<void> {
    this.#destinations = new Set(wanted.map(({ route }) => `${route.table} ${route.destination}`));
    const ours = new Map<string, PlacedRoute>();
    const stale: PlacedRoute[] = [];
    for (const route of present.filter(({ protocol }) => protocol === this.#protocol)) {
      if (ours.has(keyOf(route))) stale.push(route);
      else ours.set(keyOf(route), route);
    }
    const placed = new Set<string>();
    for (const { route: place, code, requester = { advice } } of wanted) {
      const route = { ...place, metric: metricOf(place), protocol: this.#protocol };
      const key = keyOf(route);
      const before = ours.get(key);
      ours.delete(key);
      if (before !== undefined && isSameRoute(before, route)) {
        placed.add(key);
        continue;
      }
      const isReplacing = before !== undefined || this.#placed.has(key);
      const setRoute = async (): Promise<void> => {
        await this.#netlink.setRoute(route, isReplacing);
        placed.add(key);
      };
      await attempt(code, setRoute, requester);
    }
    this.#placed = placed;
    for (const route of [...ours.values(), ...stale])
      await attempt('RouteRefused', () => this.#netlink.deleteRoute(route));
  }
}

function metricOf({ destination }: Pick<Route, 'destination'>): number {
  return destination.includes(':') ? defaultMetric.v6 : defaultMetric.v4;
}

function keyOf({ table, destination, metric = 0 }: Pick<Route, 'table' | 'destination' | 'metric'>): string {
  return `${table} ${destination} ${metric}`;
}

function isSameRoute({ unicast }: PlacedRoute, wanted: Route): boolean {
  if (unicast === undefined) return false;
  const isSameLink = wanted.index === undefined || unicast.index === wanted.index;
  return isSameLink && unicast.gateway === wanted.gateway && unicast.source === wanted.source;
}
