/**
 * Makes our routes in the kernel agree with the wanted ones. Our routes have a protocol number of their own, so any other route with that
 * number is removed, whatever its type, metric and next hops. A foreign route to the same destination stays and becomes a problem,
 * unless it replaced a route that this process had put there.
 */

import { inParallel } from './in-parallel.ts';
import { type PlacedRoute, RTN_UNICAST, type Route } from './rtnetlink-codec.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import type { Attempt, Requester } from './target.ts';
import { familyOf } from '../../lib/net/ip.ts';

export interface WantedRoute {
  readonly route: Omit<Route, 'protocol' | 'metric' | 'index'>;
  /** The route is not written while there is no link of that name; undefined: the kernel finds the link that reaches the gateway. */
  readonly device: string | undefined;
  /** Code of the problem if the kernel refuses the route. */
  readonly code: string;
  readonly requester?: Requester;
}

/** Link → index */
export type LinkIndexes = ReadonlyMap<string, number>;

const advice = 'look in "ip route" for a route of another program to the same network';
/** The kernel's default metric: IP6_RT_PRIO_USER for IPv6, 0 for IPv4. */
const defaultMetric = { v4: 0, v6: 1024 } as const;

export class OwnRoutes {
  readonly #netlink: Pick<Rtnetlink, 'setRoute' | 'deleteRoute'>;
  readonly #protocol: number;
  /** By key. Where several are wanted with one key, the first is in the kernel. */
  readonly #wanted = new Map<string, readonly WantedRoute[]>();
  /** Keys whose wanted route may have changed since the last application. */
  #changed = new Set<string>();
  /** The routes that the last application left in place. */
  readonly #placed = new Map<string, Route>();

  constructor(netlink: Pick<Rtnetlink, 'setRoute' | 'deleteRoute'>, protocol: number) {
    this.#netlink = netlink;
    this.#protocol = protocol;
  }

  /** Whether a route to this destination is wanted in that table, so that a foreign one may be in its way. */
  isWanted({ table, destination }: Pick<Route, 'table' | 'destination'>): boolean {
    return this.#wanted.has(keyOf({ table, destination, metric: metricOf({ destination }) }));
  }

  want(wanted: WantedRoute): void {
    const key = keyOf(this.#ours(wanted, undefined));
    this.#wanted.set(key, [...(this.#wanted.get(key) ?? []), wanted]);
    this.#changed.add(key);
  }

  /** Takes back one `want` of an equal route. */
  unwant(wanted: WantedRoute): void {
    const key = keyOf(this.#ours(wanted, undefined));
    const all = this.#wanted.get(key) ?? [];
    const at = all.findIndex((one) => isSameWish(one, wanted));
    const left = all.toSpliced(at, at < 0 ? 0 : 1);
    if (left.length > 0) this.#wanted.set(key, left);
    else this.#wanted.delete(key);
    this.#changed.add(key);
  }

  /**
   * Compares all wanted routes with those that are present. Returns whether routes were deleted: of several that differ in their next hops
   * only, the kernel may have deleted the wanted one, so what is present must be compared again.
   */
  async set(present: readonly PlacedRoute[], indexes: LinkIndexes, attempt: Attempt): Promise<boolean> {
    this.#changed = new Set();
    const ours = new Map<string, PlacedRoute>();
    const stale: PlacedRoute[] = [];
    for (const route of present.filter(({ protocol }) => protocol === this.#protocol)) {
      if (ours.has(keyOf(route))) stale.push(route);
      else ours.set(keyOf(route), route);
    }
    for (const key of this.#placed.keys()) if (!this.#wanted.has(key)) this.#placed.delete(key);
    const missing: { readonly wanted: WantedRoute; readonly route: Route; readonly isPresent: boolean }[] = [];
    for (const [key, [wanted]] of this.#wanted) {
      const before = ours.get(key);
      const route = wanted && this.#placeable(wanted, indexes);
      if (wanted === undefined || route === undefined) continue;
      ours.delete(key);
      if (before?.unicast !== undefined && isSameRoute(before.unicast, route)) this.#placed.set(key, route);
      else missing.push({ wanted, route, isPresent: before !== undefined });
    }
    await inParallel(missing, ({ wanted, route, isPresent }) => this.#place(wanted, route, isPresent, attempt));
    const surplus = [...ours.values(), ...stale];
    await inParallel(surplus, (route) => attempt('RouteRefused', () => this.#netlink.deleteRoute(route)));
    return surplus.length > 0;
  }

  /** Writes only what has changed since the last application. */
  async change(indexes: LinkIndexes, attempt: Attempt): Promise<void> {
    const changed = this.#changed;
    this.#changed = new Set();
    await inParallel(changed, (key) => this.#changeOne(key, indexes, attempt));
  }

  async #changeOne(key: string, indexes: LinkIndexes, attempt: Attempt): Promise<void> {
    const [wanted] = this.#wanted.get(key) ?? [];
    const [before, route] = [this.#placed.get(key), wanted && this.#placeable(wanted, indexes)];
    if (wanted !== undefined && route !== undefined) {
      if (before === undefined || !isSameRoute(before, route)) await this.#place(wanted, route, false, attempt);
    } else if (before !== undefined) {
      this.#placed.delete(key);
      const place = { ...before, metric: metricOf(before), type: RTN_UNICAST, unicast: before };
      await attempt('RouteRefused', () => this.#netlink.deleteRoute(place));
    }
  }

  async #place(wanted: WantedRoute, route: Route, isPresent: boolean, attempt: Attempt): Promise<void> {
    const key = keyOf(route);
    const wasPlaced = this.#placed.delete(key);
    const isReplacing = isPresent || wasPlaced;
    const setRoute = async (): Promise<void> => {
      await this.#netlink.setRoute(route, isReplacing);
      this.#placed.set(key, route);
    };
    await attempt(wanted.code, setRoute, wanted.requester ?? { advice });
  }

  /** Undefined if its link is missing. */
  #placeable(wanted: WantedRoute, indexes: LinkIndexes): Route | undefined {
    if (wanted.device === undefined) return this.#ours(wanted, undefined);
    const index = indexes.get(wanted.device);
    return index === undefined ? undefined : this.#ours(wanted, index);
  }

  #ours({ route }: WantedRoute, index: number | undefined): Route {
    return { ...route, index, metric: metricOf(route), protocol: this.#protocol };
  }
}

function metricOf({ destination }: Pick<Route, 'destination'>): number {
  return familyOf(destination) === 6 ? defaultMetric.v6 : defaultMetric.v4;
}

function keyOf({ table, destination, metric = 0 }: Pick<Route, 'table' | 'destination' | 'metric'>): string {
  return `${table} ${destination} ${metric}`;
}

function isSameWish(a: WantedRoute, b: WantedRoute): boolean {
  return a.device === b.device && a.route.gateway === b.route.gateway && a.route.source === b.route.source;
}

function isSameRoute(before: Route, wanted: Route): boolean {
  const isSameLink = wanted.index === undefined || before.index === wanted.index;
  return isSameLink && before.gateway === wanted.gateway && before.source === wanted.source;
}
