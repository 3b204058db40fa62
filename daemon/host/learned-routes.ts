/**
 * The kernel's routes for prefixes learned by BGP, made those that are wanted. A target of its own, so that what a router
 * withdraws is gone at once and waits for no ruleset. Ours are told from those of routing daemons by protocol and metric.
 */
import type { LearnedHop, LearnedRoute } from '../model/bgp-node-state.ts';
import { cidrContains, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { bgpProtocol, mainTable, type MultipathRoute, type PathHop } from '../../lib/netlink/multipath.ts';
import { NetlinkError } from '../../lib/netlink/socket.ts';
import type { Rtnetlink } from './rtnetlink.ts';
import { loosenReversePath } from './sysctl.ts';
import type { HostProblem, HostTarget } from './target.ts';

/**
 * Behind routes of links (0; IPv6: 256), an administrator's (IPv4: 0), FRR (20) and BIRD (32), before what DHCP (100, 1024) and
 * router advertisements (1024) bring.
 */
export const learnedMetric = { v4: 86, v6: 486 } as const;
/** Requests that may be under way at once: each is answered within microseconds. */
const requestsAtOnce = 64;
/** Prefixes named in one message. */
const named = 3;

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

  /** Whether a next hop is on no link. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Routes in the kernel. */
  get count(): number {
    return this.#count;
  }

  async set(wanted: readonly LearnedRoute[]): Promise<readonly HostProblem[]> {
    const problems: HostProblem[] = [];
    const routes = (await this.#netlink.multipathRoutes()).filter(({ table }) => table === mainTable);
    const ours = new Map(routes.filter(isLearned).map((route) => [route.destination, route]));
    const devices = await this.#devices(wanted);
    const lost = new Map<string, string[]>();
    const resolve = resolver(routes.flatMap(onLinkOf), devices);
    const near = new Set<number>();
    const placed = wanted.flatMap(({ destination, choices }): MultipathRoute[] => {
      const usable = choices.map((choice) =>
        choice.flatMap((hop): PathHop[] => {
          const index = resolve(hop);
          if (index === undefined) lost.set(hop.address, [...(lost.get(hop.address) ?? []), destination]);
          else near.add(index);
          return index === undefined ? [] : [{ gateway: hop.address, index }];
        }),
      );
      const hops = usable.find((choice) => choice.length > 0);
      return hops === undefined ? [] : [ourRoute(destination, hops)];
    });
    const kept = new Set(placed.map(({ destination }) => destination));
    const work = [
      // What must go first: no packet shall be sent to a router that takes it no more.
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
    this.#isWaiting = lost.size > 0;
    this.#count = there.size;
    await this.#use(near, problems);
    for (const [address, destinations] of lost) problems.push(lostProblem(address, destinations));
    return problems;
  }

  /** Only link-local next hops name their interface. */
  async #devices(wanted: readonly LearnedRoute[]): Promise<ReadonlyMap<string, number>> {
    const isNamed = wanted.some(({ choices }) => choices.some((hops) => hops.some(({ device }) => device)));
    return new Map(isNamed ? (await this.#netlink.links()).map(({ name, index }) => [name, index]) : []);
  }

  /** Answers may come in by another link than the one the kernel would answer by: of two routers one may be preferred. */
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

/** Told from routes of routing daemons by the metric. */
export function isLearned({ protocol, metric, destination }: MultipathRoute): boolean {
  return protocol === bgpProtocol && metric === metricOf(destination);
}

function metricOf(destination: string): number {
  return destination.includes(':') ? learnedMetric.v6 : learnedMetric.v4;
}

function ourRoute(destination: string, hops: readonly PathHop[]): MultipathRoute {
  return { destination, hops, table: mainTable, metric: metricOf(destination), protocol: bgpProtocol };
}

function onLinkOf({ destination, hops }: MultipathRoute): readonly OnLink[] {
  const [hop] = hops;
  const cidr = parseCidr(destination);
  return hop === undefined || hop.gateway !== undefined || cidr === undefined ? [] : [{ cidr, index: hop.index }];
}

/** The link a next hop is on, by the most specific route that needs no gateway. */
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
    const advice = error.code === 'EEXIST' ? `; somebody else has a route with metric ${metricOf(destination)}` : '';
    const message = `the kernel refused ${error.message}${advice}`;
    return { code: 'LearnedRouteRefused', message, prefix: destination };
  }
}

function lostProblem(address: string, destinations: readonly string[]): HostProblem {
  const [first = ''] = destinations;
  const rest = destinations.length > named ? ` and ${destinations.length - named} more` : '';
  const message = `next hop ${address} of ${destinations.slice(0, named).join(', ')}${rest} is on no link of the node; what leads there is left out until it is`;
  return { code: 'NextHopUnreachable', message, prefix: first };
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += requestsAtOnce)
    await Promise.all(items.slice(at, at + requestsAtOnce).map(work));
}
