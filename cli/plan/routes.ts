/** Every route of every other cluster as one list, in the order of their addresses. Pure. Who calls: routes, why. */
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { compareCidrs, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import type { Snapshot } from '../model/snapshot.ts';

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
  const routes = remotes.flatMap(({ name, status }) =>
    routesOf(status).map((route) => ({ ...route, cluster: name, cidr: parseCidr(route.prefix) })),
  );
  const unlisted = remotes.reduce((sum, { status }) => sum + unlistedOf(status, routesOf(status)), 0);
  return { routes: routes.toSorted(byAddress), unlisted };
}

/** Of prefixes for whose next hops there was no room only the prefix is known. */
export function routesOf({ routes = [], prefixes = [] }: RemoteClusterStatus): readonly Route[] {
  const placeOf = (transitSwitch: string, prefix: string): string => `${transitSwitch} ${prefix}`;
  const withHops = new Set(routes.map(({ transitSwitch, prefix }) => placeOf(transitSwitch, prefix)));
  const others = prefixes.flatMap(({ cidrs, ...kind }) =>
    cidrs.flatMap((prefix) =>
      withHops.has(placeOf(kind.transitSwitch, prefix)) ? [] : [{ ...kind, prefix, nextHop: '' }],
    ),
  );
  return [...routes, ...others];
}

/** A prefix is counted once, and listed once for each next hop; one that has backups only is not counted. */
function unlistedOf({ routesActive = 0, routesRejected = 0 }: RemoteClusterStatus, routes: readonly Route[]): number {
  const counted = routes.filter(({ state }) => state !== 'Backup');
  const listed = new Set(counted.map(({ prefix, transitSwitch }) => `${transitSwitch} ${prefix}`));
  return Math.max(0, routesActive + routesRejected - listed.size);
}

function byAddress(a: ListedRoute, b: ListedRoute): number {
  return compareCidrs(a.cidr, b.cidr) || (`${a.cluster} ${a.nextHop}` < `${b.cluster} ${b.nextHop}` ? -1 : 1);
}
