import type { Problem } from '../../../lib/desired/problem.ts';
import { cidrContains, formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp } from '../../../lib/net/ip.ts';
import type { Ip } from '../../../lib/net/ip.ts';
import type { StaticRoute, VpcSpec } from '../../model/objects.ts';

const policies: Readonly<Record<string, 'dst-ip' | 'src-ip'>> = {
  '': 'dst-ip',
  policyDst: 'dst-ip',
  policySrc: 'src-ip',
};

const linkLocal = parseCidr('fe80::/10');

export interface Route {
  /** `spec.staticRoutes[0]` */
  readonly place: string;
  readonly policy: 'dst-ip' | 'src-ip';
  readonly prefix: Cidr;
  readonly nextHop: Ip;
  /** Empty for the main table. */
  readonly table: string;
  /** Replies leave by the next hop from which the request came. */
  readonly isSymmetric: boolean;
}

type Outcome<T> = { readonly value: T } | { readonly problem: Problem };

function refuse(message: string, code = 'StaticRouteInvalid'): { readonly problem: Problem } {
  return { problem: { code, message } };
}

/** A bare address is the network of this one address. */
function prefixOf(text: string): Cidr | undefined {
  const ip = parseIp(text);
  return ip === undefined ? parseCidr(text) : { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
}

function readRoute(route: StaticRoute, place: string): Outcome<Route> {
  const { cidr, nextHopIP, routeTable: table, ecmpMode, bfdId } = route;
  const policy = policies[route.policy];
  const prefix = prefixOf(cidr);
  const nextHop = parseIp(nextHopIP);
  if (policy === undefined) return refuse(`${place}.policy: '${route.policy}' is neither policyDst nor policySrc`);
  if (prefix === undefined) return refuse(`${place}.cidr: '${cidr}' is neither a CIDR nor an address`);
  if (nextHop === undefined) return refuse(`${place}.nextHopIP: '${nextHopIP}' is not an IP address`);
  if (nextHop.family !== prefix.family)
    return refuse(
      `${place}.nextHopIP: ${nextHopIP} is not of the family of ${cidr}: name an IPv${prefix.family} address`,
    );
  if (linkLocal !== undefined && cidrContains(linkLocal, nextHop))
    return refuse(`${place}.nextHopIP: ${nextHopIP} may be on any port of the router: name an address of one network`);
  if (ecmpMode !== '' && ecmpMode !== 'ecmp_symmetric_reply')
    return refuse(`${place}.ecmpMode: '${ecmpMode}' is not ecmp_symmetric_reply`);
  if (bfdId !== '')
    return refuse(
      `${place}.bfdId cannot be served by this release: remove it to have the route created`,
      'NotSupported',
    );
  return { value: { place, policy, prefix, nextHop, table, isSymmetric: ecmpMode !== '' } };
}

/** The identity of a route. Routes that differ only in the next hop share the load. */
export function routeKey({ policy, prefix, nextHop, table }: Route): string {
  return `${policy}/${formatCidr(prefix)}/${formatIp(nextHop)}/${table}`;
}

/** Routes of a spec, each once, and the problems of the others. */
export function readStaticRoutes(spec: Pick<VpcSpec, 'staticRoutes'> | undefined): {
  readonly routes: readonly Route[];
  readonly problems: readonly Problem[];
} {
  const routes = new Map<string, Route>();
  const problems: Problem[] = [];
  for (const [index, item] of (spec?.staticRoutes ?? []).entries()) {
    const read = readRoute(item, `spec.staticRoutes[${index}]`);
    if ('problem' in read) {
      problems.push(read.problem);
      continue;
    }
    const before = routes.get(routeKey(read.value));
    if (before === undefined) routes.set(routeKey(read.value), read.value);
    else if (before.isSymmetric !== read.value.isSymmetric) {
      const message = `${read.value.place} is the same route as ${before.place} with another ecmpMode: remove one of them`;
      problems.push({ code: 'StaticRouteInvalid', message });
    }
  }
  return { routes: [...routes.values()], problems };
}
