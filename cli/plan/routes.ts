/** All routes of all other clusters as one list, in the order of their addresses. Pure. Called by routes and why. */
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { compareCidrs, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import type { RemoteCluster, Snapshot } from '../model/snapshot.ts';

type Route = NonNullable<RemoteClusterStatus['routes']>[number];

export interface ListedRoute extends Route {
  readonly cluster: string;
  /** Undefined if the prefix cannot be parsed. */
  readonly cidr: Cidr | undefined;
}

export interface RouteList {
  readonly routes: readonly ListedRoute[];
  /** Number of prefixes that the objects count but do not list. */
  readonly unlisted: number;
}

/** The routes of one cluster if it is given, otherwise of all. */
export function listRoutes(snapshot: Snapshot, cluster: string | undefined): RouteList {
  const remotes = snapshot.remotes.filter(({ name }) => cluster === undefined || name === cluster);
  const known = remotes.map((remote) => ({ ...remote, routes: routesOf(remote) }));
  const routes = known.flatMap(({ name, routes: own }) =>
    own.map((route) => ({ ...route, cluster: name, cidr: parseCidr(route.prefix) })),
  );
  const unlisted = known.reduce((sum, { status, routes: own }) => sum + unlistedOf(status, own), 0);
  return { routes: routes.toSorted(byAddress), unlisted };
}

/** The next hops are known only for prefixes that the status lists. */
export function routesOf({ status, prefixes }: RemoteCluster): readonly Route[] {
  const { routes = [] } = status;
  const placeOf = ({ transitSwitch, prefix }: Pick<Route, 'transitSwitch' | 'prefix'>): string =>
    `${transitSwitch} ${prefix}`;
  const withHops = new Set(routes.map(placeOf));
  const others = prefixes.flatMap(({ state, ...route }): readonly Route[] =>
    state === 'Unlisted' || withHops.has(placeOf(route)) ? [] : [{ ...route, state, nextHop: '' }],
  );
  return [...routes, ...others];
}

/** A prefix is counted once, but listed once for each next hop. */
function unlistedOf(
  { routesActive = 0, routesBackup = 0, routesRejected = 0 }: RemoteClusterStatus,
  routes: readonly Route[],
): number {
  const listed = new Set(routes.map(({ prefix, transitSwitch }) => `${prefix} ${transitSwitch}`));
  return Math.max(0, routesActive + routesBackup + routesRejected - listed.size);
}

function byAddress(a: ListedRoute, b: ListedRoute): number {
  return compareCidrs(a.cidr, b.cidr) || (`${a.cluster} ${a.nextHop}` < `${b.cluster} ${b.nextHop}` ? -1 : 1);
}
