/**
 * The exit from a user's VPC for its joined underlay subnets. OVN drops a packet without a route before it evaluates
 * policies, so the router gets a default route if the user gave it none. Rule: the route serves only the joined subnets;
 * packets of other subnets without a route are dropped as before.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { networksBeyond } from '../../../lib/net/beyond.ts';
import { formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { View } from '../../model/view.ts';
import { gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { gatewayIp } from '../../settle/subnet/subnet-net.ts';
import { isReachable, networksOf } from '../../settle/vpc/next-hops.ts';
import { routeTableOf } from '../../settle/vpc/routers.ts';
import { readStaticRoutes } from '../../settle/vpc/static-routes.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import { defaultRoute } from '../vpc/default-route.ts';
import { userDefaults } from '../../settle/vpc/user-defaults.ts';
import { isOfNetworks, isPhysical, isRewritten, ownCidrs, physicalSubnets } from './own-cidrs.ts';
import { isJoined, routerAddresses } from './router-addresses.ts';

interface Exit {
  readonly table: string;
  readonly part: FamilyNet;
}

/** Joined subnets in which the router has its address, by name. */
function exitsOf(view: View, vpc: string, family: Family): readonly Exit[] {
  const names = [...physicalSubnets(view)].filter(
    (name) => view.verdicts.get(name)?.vpc === vpc && isJoined(view, name),
  );
  return names.toSorted().flatMap((name) => {
    const net = routerAddresses(view, name)?.net;
    const part = family === 4 ? net?.v4 : net?.v6;
    return part === undefined ? [] : [{ table: routeTableOf(view, name), part }];
  });
}

/** Route tables in which joined subnets bring a default route. */
export function joinedTables(view: View, vpc: string, family: Family): ReadonlySet<string> {
  return new Set(vpc === defaultVpc ? [] : exitsOf(view, vpc, family).map(({ table }) => table));
}

/** Networks that the user gives a way of their own. */
function ownSources(view: View, vpc: string, family: Family): readonly Cidr[] {
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const networks = networksOf(view, vpc);
  const own = routes.filter(({ policy, nextHop }) => policy === 'src-ip' && isReachable(networks, nextHop));
  return own.map(({ prefix }) => prefix).filter((prefix) => prefix.family === family);
}

function beyond(networks: readonly Cidr[], family: Family): string {
  return networksBeyond(networks, family).map(formatCidr).join(', ');
}

function rowsOf(view: View, vpc: string, family: Family): readonly DesiredRow[] {
  const exits = exitsOf(view, vpc, family);
  const outside = gatewayPortsOf(view, vpc).flatMap(({ exitOf }) => exitOf);
  // With a port outside, the VPC has a default route in each table.
  if (outside.includes(family)) return [];
  const taken = userDefaults(view, vpc);
  const tables = new Map<string, Exit>();
  for (const exit of exits)
    if (!taken.has(`${exit.table}/${family}`) && !tables.has(exit.table)) tables.set(exit.table, exit);
  if (tables.size === 0) return [];
  const ip = matchFamily(family);
  const free = [...exits.map(({ part }) => part.cidr), ...ownSources(view, vpc, family)];
  const own = ownCidrs(view, vpc, family).flatMap((text) => parseCidr(text) ?? []);
  const drop: DesiredRow = {
    table: 'Logical_Router_Policy',
    key: `u2o/${vpc}/ipv${family}`,
    columns: {
      priority: policyPriority.nowhere,
      match: `${ip}.src == {${beyond(free, family)}} && ${ip}.dst == {${beyond(own, family)}}`,
      action: 'drop',
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'policies' },
  };
  // With a default route of the user in a table, other subnets have an exit.
  const isOthers = [...taken].some((key) => key.endsWith(`/${family}`));
  const routes = [...tables.values()].map(({ table, part }) =>
    defaultRoute({ vpc, purpose: 'u2o', family, nexthop: gatewayIp(part), table }),
  );
  return [...routes, ...(isOthers ? [] : [drop])];
}

function planExit(view: View, vpc: string): Desired {
  if (vpc === defaultVpc) return nothing;
  const rows = [...rowsOf(view, vpc, 4), ...rowsOf(view, vpc, 6)];
  return rows.length === 0 ? nothing : { rows };
}

/** Keys: the VPC. */
export const u2oExitFeature: Feature = {
  name: 'u2o-exit',
  all: (view) => new Set([...view.verdicts.values()].map(({ vpc }) => vpc)),
  *reads(change, view) {
    if (change.kind === 'gatewayPorts') yield change.name.slice(0, change.name.indexOf('/'));
    if (change.kind === 'verdicts')
      yield* [change.before, change.after].flatMap((verdict) => (verdict === undefined ? [] : [verdict.vpc]));
    const isRouter = change.kind === 'ports' && change.name.startsWith('u2o/');
    const isUsage = change.kind === 'usage' && isPhysical(view.verdicts.get(change.name));
    if (!isRouter && !isUsage && !isOfNetworks(change) && !isRewritten(change)) return;
    for (const name of physicalSubnets(view)) {
      const vpc = view.verdicts.get(name)?.vpc;
      if (vpc !== undefined) yield vpc;
    }
  },
  plan: planExit,
};
