/**
 * The way out of a VPC by its ports outside: default routes, and the networks to which its rules' packets do not leave. In: the verdicts on its
 * ports, its networks. Out: rows. Rules: a default route of the user stays the only one, and the default VPC leaves by its nodes as before.
 */
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { defaultVpc } from '../../../lib/api/names.ts';
import { networksBeyond } from '../../../lib/net/beyond.ts';
import { formatCidr, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { Change } from '../../model/change.ts';
import { networksBeyondSet } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { egressGatewaysOf } from '../../settle/egress/of-vpc.ts';
import { upstreamOf } from '../../settle/external/exits.ts';
import { gatewayPortsOf } from '../../settle/external/external-subnets.ts';
import { gatewayIp } from '../../settle/subnet/subnet-net.ts';
import { routedSubnetsOf, routeTableOf } from '../../settle/vpc/routers.ts';
import { readStaticRoutes } from '../../settle/vpc/static-routes.ts';
import { userDefaults } from '../../settle/vpc/user-defaults.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { defaultRoute } from '../vpc/default-route.ts';
import { servedGateway } from '../egress-gateway/served.ts';
import { joinedTables } from '../underlay/exit.ts';
import { isOfNetworks, isPhysical, isRewritten, ownCidrs } from '../underlay/own-cidrs.ts';
import { servedPort, togetherWith, type ServedPort } from './gateway-port.ts';
import { sessionRef } from './upstream.ts';

/** The two halves of all addresses: routes to them precede a default route. */
const halves = { 4: ['0.0.0.0/1', '128.0.0.0/1'], 6: ['::/1', '8000::/1'] } as const;

/**
 * The default routes of a family. OVN would share the load between two of them. So where a port takes over from another one, that one has routes to
 * the two halves of all addresses, which OVN withdraws when its session goes down.
 */
function routeRows(view: View, vpc: string, family: Family, ports: readonly ServedPort[]): readonly DesiredRow[] {
  const taken = userDefaults(view, vpc);
  const isServed = ({ parts }: ServedPort): boolean => parts.some(({ cidr }) => cidr.family === family);
  const exit = ports.find((port) => port.exitOf.includes(family) && isServed(port));
  const reserve = ports.find((port) => port.reserveOf.includes(family) && isServed(port));
  if (exit === undefined) return [];
  const tables = new Set(['', ...routedSubnetsOf(view, vpc).map((subnet) => routeTableOf(view, subnet))]);
  const { routes } = readStaticRoutes(view.vpcs.get(vpc)?.spec);
  const own = [...tables].filter((table) => !taken.has(`${table}/${family}`)).sort();
  return own.flatMap((table) => {
    const to = (port: ServedPort, prefix?: string): DesiredRow => {
      const part = port.parts.find(({ cidr }) => cidr.family === family);
      const upstream = upstreamOf(port, family);
      const isGuarded = reserve !== undefined && upstream !== undefined && upstream.state !== 'silent';
      return defaultRoute({
        vpc,
        purpose: 'external',
        family,
        nexthop: part === undefined ? '' : gatewayIp(part),
        table,
        ...(prefix !== undefined && { prefix }),
        bfd: isGuarded ? sessionRef(port.name, upstream) : null,
      });
    };
    // The load would be shared with such a route of the user.
    const isHalved = routes.some(
      (route) => route.table === table && (halves[family] as readonly string[]).includes(formatCidr(route.prefix)),
    );
    if (reserve === undefined || isHalved) return [{ ...to(exit), columns: { ...to(exit).columns, bfd: null } }];
    return [...halves[family].map((prefix) => to(exit, prefix)), to(reserve)];
  });
}

/**
 * OVN asks for a next hop of IPv6 at the multicast address of the packet's own destination, which the router outside does not receive, unless the
 * next hop is that of a route. Rules lead packets by policies, so a route to the router outside itself names it.
 */
function neighborRows(
  view: View,
  vpc: string,
  ports: readonly ServedPort[],
  routes: readonly DesiredRow[],
): readonly DesiredRow[] {
  const own = readStaticRoutes(view.vpcs.get(vpc)?.spec).routes.map(({ prefix }) => formatCidr(prefix));
  const named = new Set(routes.map(({ columns }) => columns['nexthop']));
  const nexthops = new Set(
    ports.flatMap(({ parts }) => parts.filter(({ cidr }) => cidr.family === 6).map((part) => gatewayIp(part))),
  );
  return [...nexthops].flatMap((nexthop) => {
    const prefix = `${nexthop}/128`;
    if (named.has(nexthop) || own.includes(prefix)) return [];
    return [defaultRoute({ vpc, purpose: 'neighbor', family: 6, nexthop, table: '', prefix })];
  });
}

function setRow(vpc: string, name: string, own: readonly Cidr[], family: Family): DesiredRow {
  return {
    table: 'Address_Set',
    key: name,
    columns: { addresses: networksBeyond(own, family).map(formatCidr), external_ids: { ...vendorIds, vpc } },
  };
}

/** The sets that policies of rules and of VpcEgressGateways name. */
function setRows(view: View, vpc: string, ports: readonly ServedPort[]): readonly DesiredRow[] {
  const outside = new Set(ports.flatMap(({ parts }) => parts.map(({ cidr }) => formatCidr(cidr))));
  return ([4, 6] as const).flatMap((family) => {
    const inside = ownCidrs(view, vpc, family).filter((cidr) => !outside.has(cidr));
    const own = inside.flatMap((text) => parseCidr(text) ?? []);
    const ofPorts = ports.flatMap(({ subnet, parts }) => {
      const part = parts.find(({ cidr }) => cidr.family === family);
      if (part === undefined) return [];
      return [setRow(vpc, networksBeyondSet(vpc, family, subnet), [...own, part.cidr], family)];
    });
    const isEgress = egressGatewaysOf(view, vpc).length > 0;
    return isEgress ? [...ofPorts, setRow(vpc, networksBeyondSet(vpc, family), own, family)] : ofPorts;
  });
}

/**
 * OVN drops a packet without a route before it looks at policies. Where a VPC has no other default route, that to a VpcEgressGateway lets its packets
 * reach them; the gateway drops all others.
 */
function egressRows(view: View, vpc: string, ports: readonly ServedPort[]): readonly DesiredRow[] {
  if (vpc === defaultVpc) return [];
  const gateways = egressGatewaysOf(view, vpc).flatMap(({ key }) => servedGateway(view, key) ?? []);
  const taken = gateways.length === 0 ? new Set<string>() : userDefaults(view, vpc);
  const tables = new Set(['', ...routedSubnetsOf(view, vpc).map((subnet) => routeTableOf(view, subnet))]);
  return ([4, 6] as const).flatMap((family) => {
    const gateway = gateways.find(({ parts }) => parts.some(({ cidr }) => cidr.family === family));
    const nexthop = gateway?.link.find((one) => one.family === family)?.far;
    if (nexthop === undefined || ports.some(({ exitOf }) => exitOf.includes(family))) return [];
    const joined = joinedTables(view, vpc, family);
    const own = [...tables].filter((table) => !taken.has(`${table}/${family}`) && !joined.has(table));
    return own.sort().map((table) => defaultRoute({ vpc, purpose: 'egress', family, nexthop, table }));
  });
}

function planExit(view: View, vpc: string): Desired {
  const ports = gatewayPortsOf(view, vpc).flatMap(({ subnet }) => servedPort(view, vpc, subnet) ?? []);
  const [first] = ports;
  if (first === undefined && egressGatewaysOf(view, vpc).length === 0) return nothing;
  const exit = ports.find(({ exitOf }) => exitOf.length > 0) ?? first;
  const routes = ([4, 6] as const).flatMap((family) => routeRows(view, vpc, family, ports));
  return {
    rows: [
      ...routes,
      ...neighborRows(view, vpc, ports, routes),
      ...egressRows(view, vpc, ports),
      ...setRows(view, vpc, ports),
    ],
    ...(exit === undefined ? {} : { together: togetherWith(exit) }),
  };
}

function* vpcsOutside(view: View): Generator<string> {
  for (const { vpc } of view.gatewayPorts.values()) yield vpc;
  for (const { vpc } of view.egressGateways.values()) yield vpc;
}

/** Whether the addresses of a port outside, or of a joined subnet's router, may have changed. */
function isOfPorts({ kind, name }: Change): boolean {
  return kind === 'ports' && ['eip/', 'egress-gateway/', 'u2o/'].some((prefix) => name.startsWith(prefix));
}

function isOfJoined(view: View, change: Change): boolean {
  return isRewritten(change) || (change.kind === 'usage' && isPhysical(view.verdicts.get(change.name)));
}

/** Keys: the VPC. */
export const externalExitFeature: Feature = {
  name: 'external-exit',
  all: (view) => new Set(vpcsOutside(view)),
  *reads(change, view) {
    if (change.kind === 'gatewayPorts') yield change.name.slice(0, change.name.indexOf('/'));
    else if (change.kind === 'egressGateways') {
      for (const gateway of [change.before, change.after]) if (gateway !== undefined) yield gateway.vpc;
    } else if (isOfNetworks(change) || isOfPorts(change)) yield* new Set(vpcsOutside(view));
    else if (view.egressGateways.size > 0 && isOfJoined(view, change)) yield* new Set(vpcsOutside(view));
  },
  plan: planExit,
  statusOf: (vpc) => `vpc/${vpc}`,
};
