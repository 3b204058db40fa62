import { defaultVpc } from '../../../lib/api/names.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortsOf } from '../external/external-subnets.ts';
import { isDefaultRoute, lanPort, nextHopOf } from '../external/lan-routes.ts';
import { isReachable, networksOf } from './next-hops.ts';
import { readStaticRoutes } from './static-routes.ts';

/**
 * `<table>/<family>` of default routes that the user gives a VPC, and that lead somewhere. Those to a VpcNatGateway are none: they say which port
 * outside is the way out of the VPC. The default VPC has no such way, and its routes are rows of their own, as are those in named tables.
 */
export function userDefaults(view: View, vpc: string): ReadonlySet<string> {
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const defaults = routes.filter(isDefaultRoute);
  const networks = defaults.length === 0 ? [] : networksOf(view, vpc);
  const ports = vpc === defaultVpc ? [] : gatewayPortsOf(view, vpc);
  const found = defaults.filter(({ nextHop, table }) => {
    // Also while packets cannot leave by it: they do not leave by another network.
    if (lanPort(ports, nextHop) !== undefined) return table !== '';
    const hop = nextHopOf(view, vpc, nextHop);
    return hop !== undefined && isReachable(networks, hop);
  });
  return new Set(found.map(({ table, prefix }) => `${table}/${prefix.family}`));
}
