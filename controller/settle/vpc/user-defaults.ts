import type { View } from '../../model/view.ts';
import { isReachable, networksOf } from './next-hops.ts';
import { readStaticRoutes } from './static-routes.ts';

/** `<table>/<family>` of default routes that the user gives a VPC, and that lead somewhere. */
export function userDefaults(view: View, vpc: string): ReadonlySet<string> {
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const defaults = routes.filter(({ prefix, policy }) => prefix.prefix === 0 && policy === 'dst-ip');
  const networks = defaults.length === 0 ? [] : networksOf(view, vpc);
  const found = defaults.filter(({ nextHop }) => isReachable(networks, nextHop));
  return new Set(found.map(({ table, prefix }) => `${table}/${prefix.family}`));
}
