/** A Vpc's `staticRoutes`: rows of its router, and problems of single items. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { isDefaultRoute, lanPort, nextHopOf } from '../../settle/external/lan-routes.ts';
import { isReachable, networksOf } from '../../settle/vpc/next-hops.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { routeKey, readStaticRoutes } from '../../settle/vpc/static-routes.ts';
import type { Route } from '../../settle/vpc/static-routes.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { routers, routersReading } from './router.ts';

/** Routes that wait for a network with their next hop; OVN passes over them until there is one. */
export function unreachableRoutes(view: View, vpc: string): readonly Problem[] {
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const networks = routes.length === 0 ? [] : networksOf(view, vpc);
  return routes.flatMap(({ place, nextHop }) => {
    const problem = nextHopProblem(view, vpc, { networks, nextHop, place, what: 'route' });
    return problem === undefined ? [] : [problem];
  });
}

interface Hop {
  /** Those of the router. */
  readonly networks: readonly Cidr[];
  readonly nextHop: Ip;
  /** `spec.staticRoutes[0]` */
  readonly place: string;
  readonly what: 'route' | 'policy';
}

/** Why packets do not get to a next hop now. */
export function nextHopProblem(view: View, vpc: string, { networks, nextHop, place, what }: Hop): Problem | undefined {
  const text = formatIp(nextHop);
  if (!isReachable(networks, nextHop)) {
    const message = `${place}.nextHopIP: no subnet or peering of this Vpc has ${text}: the ${what} works once one does`;
    return { code: 'NextHopUnreachable', message };
  }
  if (nextHopOf(view, vpc, nextHop) !== undefined) return undefined;
  const message = `${place}.nextHopIP: the router has no port in the first Subnet outside of the VpcNatGateway with ${text}: the ${what} works once it does`;
  return { code: 'NextHopUnreachable', message };
}

/** Whether the route is the default route that `plan/external/exit.ts` makes of the port outside to which it leads. */
function isExit(ports: readonly GatewayPort[], route: Route): boolean {
  if (!isDefaultRoute(route) || route.table !== '' || lanPort(ports, route.nextHop) === undefined) return false;
  return ports.some(({ exitOf }) => exitOf.includes(route.prefix.family));
}

function routeRow(vpc: string, route: Route, hop: Ip): DesiredRow {
  return {
    table: 'Logical_Router_Static_Route',
    key: `${vpc}/${routeKey(route)}`,
    columns: {
      ip_prefix: formatCidr(route.prefix),
      nexthop: formatIp(hop),
      policy: route.policy,
      route_table: route.table,
      options: route.isSymmetric ? { ecmp_symmetric_reply: 'true' } : {},
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'static_routes' },
  };
}

function planRoutes(view: View, vpc: string): Desired {
  if (!hasRouter(view, vpc)) return nothing;
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const ports = gatewayPortsOf(view, vpc);
  // Several next hops may lead to the same gateway, which is one row.
  const rows = new Map<string, DesiredRow>();
  for (const route of routes) {
    const hop = isExit(ports, route) ? undefined : nextHopOf(view, vpc, route.nextHop);
    const key = hop && routeKey({ ...route, nextHop: hop });
    if (hop !== undefined && key !== undefined && !rows.has(key)) rows.set(key, routeRow(vpc, route, hop));
  }
  return { rows: [...rows.values()] };
}

/** Keys: the VPC. */
export const staticRouteFeature: Feature = {
  name: 'static-route',
  all: routers,
  reads: routersReading,
  plan: planRoutes,
  statusOf: (vpc) => `vpc/${vpc}`,
};
