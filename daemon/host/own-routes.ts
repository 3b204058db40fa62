/**
 * Routes of ours in the kernel, made those that are wanted. Ours have a protocol of their own; what else has it, of whatever type,
 * metric and next hops, goes. A route of somebody else to the same place stays and is told, unless it took the place of one
 * that this process had there.
 */
import type { Attempt, Wish } from './network.ts';
import type { PlacedRoute, Route } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';

export interface WantedRoute {
  readonly route: Omit<Route, 'protocol' | 'metric'>;
  /** Of the problem where the kernel refuses it. */
  readonly code: string;
  readonly wish?: Wish;
}

const advice = 'look at "ip route" for a route of somebody else to the same network';
/** What the kernel takes for an IPv6 route without a metric (IP6_RT_PRIO_USER); IPv4 has 0. */
const usualMetric = { v4: 0, v6: 1024 } as const;

export class OwnRoutes {
  readonly #netlink: Pick<Rtnetlink, 'setRoute' | 'deleteRoute'>;
  readonly #protocol: number;
  /** Keys of the routes that are in place by the last application. */
  #placed: ReadonlySet<string> = new Set();
  #destinations: ReadonlySet<string> = new Set();

  constructor(netlink: Pick<Rtnetlink, 'setRoute' | 'deleteRoute'>, protocol: number) {
    this.#netlink = netlink;
    this.#protocol = protocol;
  }

  /** Whether a route to there is wanted in that table, for which another one may be in the way. */
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
    for (const { route: wish, code, wish: owner = { advice } } of wanted) {
      const route = { ...wish, metric: metricOf(wish), protocol: this.#protocol };
      const key = keyOf(route);
      const before = ours.get(key);
      ours.delete(key);
      if (before !== undefined && isSameRoute(before, route)) {
        placed.add(key);
        continue;
      }
      const isReplacing = before !== undefined || this.#placed.has(key);
      const place = async (): Promise<void> => {
        await this.#netlink.setRoute(route, isReplacing);
        placed.add(key);
      };
      await attempt(code, place, owner);
    }
    this.#placed = placed;
    for (const route of [...ours.values(), ...stale])
      await attempt('RouteRefused', () => this.#netlink.deleteRoute(route));
  }
}

function metricOf({ destination }: Pick<Route, 'destination'>): number {
  return destination.includes(':') ? usualMetric.v6 : usualMetric.v4;
}

function keyOf({ table, destination, metric = 0 }: Pick<Route, 'table' | 'destination' | 'metric'>): string {
  return `${table} ${destination} ${metric}`;
}

function isSameRoute({ unicast }: PlacedRoute, wanted: Route): boolean {
  if (unicast === undefined) return false;
  const isSameLink = wanted.index === undefined || unicast.index === wanted.index;
  return isSameLink && unicast.gateway === wanted.gateway && unicast.source === wanted.source;
}
