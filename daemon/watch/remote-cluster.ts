/** A RemoteCluster and its slices → its prefixes that routers may send packets for to this node. */
import type { RemoteRoute as RouteEntry } from '../../lib/api/kinds/remote-route-slice.ts';
import { remotePrefixes, remoteRoutes } from '../../lib/slices/remote-routes.ts';
import { formatCidr } from '../../lib/net/cidr.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import type { SlicedView } from '../../lib/slices/slice.ts';
import type { RemoteRoute } from '../model/interconnect.ts';

/** Leaves out prefixes that routers there announce, and prefixes that are not listed: neither is announced to routers here. */
function forwarded(routes: readonly RouteEntry[]): readonly RemoteRoute[] {
  return remotePrefixes(routes).listed.flatMap(({ cidr, transitSwitch, isActive, origin }) =>
    isActive && origin !== learnedOrigin ? [{ prefix: formatCidr(cidr), transitSwitch }] : [],
  );
}

export const remoteClusterView: SlicedView<RouteEntry, readonly RemoteRoute[], readonly RemoteRoute[]> = {
  kind: remoteRoutes,
  merge: forwarded,
  parse: () => (routes) => routes,
};
