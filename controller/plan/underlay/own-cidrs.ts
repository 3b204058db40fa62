import { formatCidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { View } from '../view.ts';
import { isReachable, networksOf } from '../vpc/next-hops.ts';
import { readStaticRoutes } from '../vpc/static-routes.ts';

/** What the router of a VPC has a way to of its own, in canonical text, in order and once each. */
export function ownCidrs(view: View, vpc: string, family: Family): readonly string[] {
  const networks = networksOf(view, vpc);
  const routes = readStaticRoutes(view.vpcs.get(vpc)?.spec).routes.filter(
    ({ policy, prefix, nextHop }) => policy === 'dst-ip' && prefix.prefix > 0 && isReachable(networks, nextHop),
  );
  const remote = [...view.remoteClusters.values()].flatMap((cluster) =>
    cluster.routes.filter(({ transitSwitch }) => view.transitSwitches.get(transitSwitch)?.vpc === vpc),
  );
  const all = [...networks, ...routes.map(({ prefix }) => prefix), ...remote.map(({ cidr }) => cidr)];
  const own = all.filter((cidr) => cidr.family === family && cidr.prefix > 0);
  return [...new Set(own.map(formatCidr))].sort();
}
