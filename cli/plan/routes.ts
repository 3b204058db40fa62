/** Every route of every other cluster as one list, in the order of their addresses. Pure. Who calls: routes, why. */
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { compareCidrs, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import type { RemoteCluster, Snapshot } from '../model/snapshot.ts';

type Route = NonNullable<RemoteClusterStatus['routes']>[number];

export interface ListedRoute extends Route {
  readonly cluster: string;
  /** Undefined where the prefix is none. */
  readonly cidr: Cidr | undefined;
}

export interface RouteList {
  readonly routes: readonly ListedRoute[];
  /** Prefixes that the objects count but do not list. */
  readonly unlisted: number;
}

/** Of one cluster where it is named. */
export function listRoutes(snapshot: Snapshot, cluster: string | undefined): RouteList {
  const remotes = snapshot.remotes.filter(({ name }) => cluster === undefined || name === cluster);
  const known = remotes.map((remote) => ({ ...remote, routes: routesOf(remote) }));
  const routes = known.flatMap(({ name, routes: own }) =>
    own.map((route) => ({ ...route, cluster: name, cidr: parseCidr(route.prefix) })),
  );
  const unlisted = known.reduce((sum, { status, routes: own }) => sum + unlistedOf(status, own), 0);
  return { routes: routes.toSorted(byAddress), unlisted };
}

/** Next hops are known of those prefixes only that the status shows. */
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

/** A prefix is counted once, and listed once for each next hop. */
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
