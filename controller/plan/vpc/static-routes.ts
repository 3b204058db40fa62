/** A Vpc's `staticRoutes`: rows of its router, and problems of single items. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import { formatIp } from '../../../lib/net/ip.ts';
import type { View } from '../../model/view.ts';
import { isReachable, networksOf } from '../../settle/vpc/next-hops.ts';
import { hasRouter } from '../../settle/vpc/routers.ts';
import { routeKey, readStaticRoutes } from '../../settle/vpc/static-routes.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { routers, routersReading } from './router.ts';

/** Routes that wait for a network with their next hop; OVN passes over them until there is one. */
export function unreachableRoutes(view: View, vpc: string): readonly Problem[] {
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const networks = routes.length === 0 ? [] : networksOf(view, vpc);
  return routes
    .filter(({ nextHop }) => !isReachable(networks, nextHop))
    .map(({ place, nextHop }) => ({
      code: 'NextHopUnreachable',
      message: `${place}.nextHopIP: no subnet or peering of this Vpc has ${formatIp(nextHop)}: the route works once one does`,
    }));
}

function planRoutes(view: View, vpc: string): Desired {
  if (!hasRouter(view, vpc)) return nothing;
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  return {
    rows: routes.map((route): DesiredRow => ({
      table: 'Logical_Router_Static_Route',
      key: `${vpc}/${routeKey(route)}`,
      columns: {
        ip_prefix: formatCidr(route.prefix),
        nexthop: formatIp(route.nextHop),
        policy: route.policy,
        route_table: route.table,
        options: route.isSymmetric ? { ecmp_symmetric_reply: 'true' } : {},
        external_ids: vendorIds,
      },
      parent: { table: 'Logical_Router', key: vpc, column: 'static_routes' },
    })),
  };
}

/** Keys: the VPC. */
export const staticRouteFeature: Feature = {
  name: 'static-route',
  all: routers,
  reads: routersReading,
  plan: planRoutes,
  statusOf: (vpc) => `vpc/${vpc}`,
};
