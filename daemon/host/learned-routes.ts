/**
 * Makes the kernel's routes for prefixes learned by BGP agree with the wanted ones. It is a target of its own, so that a withdrawn prefix
 * is removed at once and does not wait for a ruleset. Protocol and metric tell our routes from those of routing daemons.
 */
import type { LearnedHop, LearnedRoute } from '../model/bgp-node-state.ts';
import { cidrContains, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { parseIp, familyOf } from '../../lib/net/ip.ts';
import { bgpProtocol, mainTable, type MultipathRoute, type PathHop } from '../../lib/netlink/multipath.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import { inParallel } from './in-parallel.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { loosenReversePath } from './sysctl.ts';
import type { HostProblem, HostTarget } from './target.ts';

/**
 * The kernel prefers routes of links (0; IPv6: 256), of administrators (IPv4: 0), FRR (20) and BIRD (32) to these, and these to routes of DHCP
 * (100, 1024) and router advertisements (1024).
 */
export const learnedMetric = { v4: 86, v6: 486 } as const;
/** Number of prefixes that one message names. */
const namedPrefixes = 3;

interface OnLink {
  readonly cidr: Cidr;
  readonly index: number;
}

type KernelRoutes = Pick<Rtnetlink, 'multipathRoutes' | 'setMultipath' | 'deleteMultipath' | 'links'>;

export class KernelLearnedRoutes implements HostTarget<readonly LearnedRoute[]> {
  readonly #netlink: KernelRoutes;
  #used: ReadonlySet<number> = new Set();
  #count = 0;
  #isWaiting = false;

  constructor(netlink: KernelRoutes) {
    this.#netlink = netlink;
  }

  /** Indexes of the links that next hops are on. */
  get used(): ReadonlySet<number> {
    return this.#used;
  }

  /** Whether a next hop is not on any link yet. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Number of routes in the kernel. */
  get count(): number {
    return this.#count;
  }

  async set(wanted: readonly LearnedRoute[]): Promise<readonly HostProblem[]> {
    const problems: HostProblem[] = [];
    const routes = (await this.#netlink.multipathRoutes()).filter(({ table }) => table === mainTable);
    const ours = new Map(routes.filter(isLearned).map((route) => [route.destination, route]));
    const devices = await this.#devices(wanted);
    const unreachable = new Map<string, string[]>();
    const resolve = resolver(routes.flatMap(onLinkOf), devices);
    const near = new Set<number>();
    const placed = wanted.flatMap(({ destination, choices }): MultipathRoute[] => {
      const usable = choices.map((choice) =>
        choice.flatMap((hop): PathHop[] => {
          const index = resolve(hop);
          if (index === undefined) unreachable.set(hop.address, [...(unreachable.get(hop.address) ?? []), destination]);
          else near.add(index);
          return index === undefined ? [] : [{ gateway: hop.address, index }];
        }),
      );
      const hops = usable.find((choice) => choice.length > 0);
      return hops === undefined ? [] : [ourRoute(destination, hops)];
    });
    const kept = new Set(placed.map(({ destination }) => destination));
    const work = [
      // Removals come first, so that no packet is sent to a router that has withdrawn the prefix.
      ...[...ours.values()]
        .filter(({ destination }) => !kept.has(destination))
        .map((route) => ({ route, run: () => this.#netlink.deleteMultipath(route) })),
      ...placed
        .filter((route) => !isSameRoute(ours.get(route.destination), route))
        .map((route) => ({ route, run: () => this.#netlink.setMultipath(route, ours.has(route.destination)) })),
    ];
    const there = new Set(ours.keys());
    await inParallel(work, async ({ route, run }) => {
      const problem = await attempt(route, run);
      if (problem !== undefined) problems.push(problem);
      else if (kept.has(route.destination)) there.add(route.destination);
      else there.delete(route.destination);
    });
    this.#isWaiting = unreachable.size > 0;
    this.#count = there.size;
    await this.#use(near, problems);
    for (const [address, destinations] of unreachable) problems.push(unreachableProblem(address, destinations));
    return problems;
  }

  /** Indexes of links by name, for link-local next hops, which name their link. */
  async #devices(wanted: readonly LearnedRoute[]): Promise<ReadonlyMap<string, number>> {
    const isNamed = wanted.some(({ choices }) => choices.some((hops) => hops.some(({ device }) => device)));
    return new Map(isNamed ? (await this.#netlink.links()).map(({ name, index }) => [name, index]) : []);
  }

  /** With several routers, answers may arrive on another link than the preferred one, which strict rp_filter would drop. */
  async #use(used: ReadonlySet<number>, problems: HostProblem[]): Promise<void> {
    const added = [...used].filter((index) => !this.#used.has(index));
    this.#used = used;
    if (added.length === 0) return;
    for (const { name, index } of await this.#netlink.links()) {
      if (!added.includes(index)) continue;
      try {
        loosenReversePath(name);
      } catch (error) {
        if (!(error instanceof Error && 'syscall' in error)) throw error;
        problems.push({ code: 'SysctlRefused', message: `rp_filter of ${name}: ${error.message}`, prefix: '' });
      }
    }
  }
}

/** The metric tells our routes from those of routing daemons. */
export function isLearned({ protocol, metric, destination }: MultipathRoute): boolean {
  return protocol === bgpProtocol && metric === metricOf(destination);
}

function metricOf(destination: string): number {
  return familyOf(destination) === 6 ? learnedMetric.v6 : learnedMetric.v4;
}

function ourRoute(destination: string, hops: readonly PathHop[]): MultipathRoute {
  return { destination, hops, table: mainTable, metric: metricOf(destination), protocol: bgpProtocol };
}

function onLinkOf({ destination, hops }: MultipathRoute): readonly OnLink[] {
  const [hop] = hops;
  const cidr = parseCidr(destination);
  return hop === undefined || hop.gateway !== undefined || cidr === undefined ? [] : [{ cidr, index: hop.index }];
}

/** Finds the link of a next hop: that of the most specific route without a gateway. */
function resolver(onLink: readonly OnLink[], devices: ReadonlyMap<string, number>) {
  const sorted = onLink.toSorted((a, b) => b.cidr.prefix - a.cidr.prefix);
  const known = new Map<string, number | undefined>();
  return ({ address, device }: LearnedHop): number | undefined => {
    const key = `${address}%${device ?? ''}`;
    if (known.has(key)) return known.get(key);
    const ip = parseIp(address);
    const only = device === undefined ? undefined : devices.get(device);
    const isHere = ({ cidr, index }: OnLink): boolean =>
      ip !== undefined && cidrContains(cidr, ip) && (device === undefined || index === only);
    const found = sorted.find(isHere)?.index;
    known.set(key, found);
    return found;
  };
}

function isSameRoute(before: MultipathRoute | undefined, { hops }: MultipathRoute): boolean {
  const textOf = (all: readonly PathHop[]): string =>
    all
      .map((hop) => `${hop.gateway} ${hop.index}`)
      .sort()
      .join();
  return before !== undefined && textOf(before.hops) === textOf(hops);
}

async function attempt({ destination }: MultipathRoute, run: () => Promise<void>): Promise<HostProblem | undefined> {
  try {
    await run();
    return undefined;
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error;
    const advice = error.code === 'EEXIST' ? `; another program has a route with metric ${metricOf(destination)}` : '';
    const message = `the kernel refused ${error.message}${advice}`;
    return { code: 'LearnedRouteRefused', message, prefix: destination };
  }
}

function unreachableProblem(address: string, destinations: readonly string[]): HostProblem {
  const [first = ''] = destinations;
  const rest = destinations.length > namedPrefixes ? ` and ${destinations.length - namedPrefixes} more` : '';
  const message = `next hop ${address} of ${destinations.slice(0, namedPrefixes).join(', ')}${rest} is on no link of the node; routes through it are installed once it is`;
  return { code: 'NextHopUnreachable', message, prefix: first };
}
