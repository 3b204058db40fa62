/**
 * Finds the learned routes that the kernel would use to an address, and makes detours: host routes to an address over the route that the
 * node would have without learned routes. Used while the API server is not reached. A detour only concerns that one address, so no other
 * packets are affected.
 */
import { cidrContains, parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf, type Ip, parseIp, familyOf } from '../../lib/net/ip.ts';
import { bgpProtocol, mainTable, type MultipathRoute } from '../../lib/netlink/multipath.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { isLearned, learnedMetric } from './learned-routes.ts';
import type { Rtnetlink } from './rtnetlink.ts';

/** A route that the kernel refused, and why. */
export interface RefusedRoute {
  readonly route: MultipathRoute;
  readonly error: NetlinkError;
}

export class LearnedDetour {
  readonly #netlink: Pick<Rtnetlink, 'multipathRoutes' | 'setMultipath' | 'deleteMultipath'>;

  constructor(netlink: Pick<Rtnetlink, 'multipathRoutes' | 'setMultipath' | 'deleteMultipath'>) {
    this.#netlink = netlink;
  }

  /** All learned routes of the kernel. */
  async all(): Promise<readonly MultipathRoute[]> {
    return (await this.#main()).filter(isLearned);
  }

  /** The learned routes that the kernel prefers to the node's own route to one of the addresses. */
  async leadingTo(addresses: readonly string[]): Promise<readonly MultipathRoute[]> {
    const routes = await this.#main();
    return routes.filter((route) => isLearned(route) && leadsTo(route, addresses, routes));
  }

  /** The prefixes that would be among these if they were routes. */
  async wouldLeadTo(addresses: readonly string[], prefixes: readonly string[]): Promise<ReadonlySet<string>> {
    const routes = await this.#main();
    return new Set(
      prefixes.filter((destination) => {
        const metric = familyOf(destination) === 6 ? learnedMetric.v6 : learnedMetric.v4;
        return leadsTo({ destination, metric }, addresses, routes);
      }),
    );
  }

  /**
   * Makes detours to these addresses.
   * @returns the routes to give to `end`; none if the node has no other route over a router
   * @throws NetlinkError if the kernel refuses one, for example because an uplink goes down; `clear` removes the others
   */
  async begin(addresses: readonly string[]): Promise<readonly MultipathRoute[]> {
    const routes = await this.#main();
    const detours = addresses.flatMap((address): MultipathRoute[] => {
      const ip = parseIp(address);
      const own = ip && ownRoute(routes, ip);
      const hops = own?.hops.filter(({ isDown }) => isDown !== true) ?? [];
      if (ip === undefined || hops.length === 0 || hops.some(({ gateway }) => gateway === undefined)) return [];
      const metric = ip.family === 4 ? detourMetric.v4 : detourMetric.v6;
      const destination = `${address}/${bitsOf(ip.family)}`;
      return [{ destination, hops, table: mainTable, metric, protocol: bgpProtocol }];
    });
    for (const route of detours) await this.#netlink.setMultipath(route, true);
    return detours;
  }

  /** Removes detours; also used to remove learned routes. */
  async end(routes: readonly MultipathRoute[]): Promise<void> {
    for (const route of routes) await unlessGone(this.#netlink.deleteMultipath(route));
  }

  /** Adds learned routes again. @returns those that the kernel refuses, for example because their link went down */
  async restore(routes: readonly MultipathRoute[]): Promise<readonly RefusedRoute[]> {
    const refused: RefusedRoute[] = [];
    for (const route of routes) {
      const hops = route.hops.filter(({ isDown }) => isDown !== true);
      try {
        await this.#netlink.setMultipath(hops.length === 0 ? route : { ...route, hops }, true);
      } catch (error) {
        if (!(error instanceof NetlinkError)) throw error;
        refused.push({ route, error });
      }
    }
    return refused;
  }

  /** Removes all detours, including those of an earlier process. @throws NetlinkError */
  async clear(): Promise<void> {
    await this.end((await this.#main()).filter(isDetour));
  }

  async #main(): Promise<readonly MultipathRoute[]> {
    return (await this.#netlink.multipathRoutes()).filter(({ table }) => table === mainTable);
  }
}

/** The kernel prefers detours to learned routes, but to nothing else. */
const detourMetric = { v4: learnedMetric.v4 - 1, v6: learnedMetric.v6 - 1 } as const;

function isDetour({ protocol, metric, destination }: MultipathRoute): boolean {
  return protocol === bgpProtocol && metric === (familyOf(destination) === 6 ? detourMetric.v6 : detourMetric.v4);
}

/** The properties by which the kernel prefers one route to another. */
type Ranked = Pick<MultipathRoute, 'destination' | 'metric'>;

function leadsTo(route: Ranked, addresses: readonly string[], routes: readonly MultipathRoute[]): boolean {
  return addresses.some((address) => {
    const ip = parseIp(address);
    if (ip === undefined || !covers(route, ip)) return false;
    const own = ownRoute(routes, ip);
    return own === undefined || isBefore(route, own);
  });
}

function covers({ destination }: Ranked, ip: Ip): boolean {
  const cidr = parseCidr(destination);
  return cidr !== undefined && cidrContains(cidr, ip);
}

/** The kernel's choice among all routes except learned ones. */
function ownRoute(routes: readonly MultipathRoute[], ip: Ip): MultipathRoute | undefined {
  const own = routes.filter((route) => !isLearned(route) && !isDetour(route) && covers(route, ip));
  return own.reduce<MultipathRoute | undefined>(
    (best, route) => (best === undefined || isBefore(route, best) ? route : best),
    undefined,
  );
}

function isBefore(a: Ranked, b: Ranked): boolean {
  const [lengthA, lengthB] = [a, b].map(({ destination }) => parseCidr(destination)?.prefix ?? 0);
  return lengthA === lengthB ? a.metric < b.metric : (lengthA ?? 0) > (lengthB ?? 0);
}

async function unlessGone(deleted: Promise<void>): Promise<void> {
  try {
    await deleted;
  } catch (error) {
    if (!(error instanceof NetlinkError && error.code === 'ESRCH')) throw error;
  }
}
