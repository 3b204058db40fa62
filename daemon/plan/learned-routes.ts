/**
 * Prefixes that the speaker of this node learned → wanted kernel routes. Pure. Only the kernel knows which next hops are on a link: host/ uses
 * the first choice of each route that has some. There must be no route for networks of the cluster and no next hop in them, because the
 * packets would loop.
 */
import { type LifelineFacts, Lifelines } from '../../lib/bgp/lifelines.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import { parseCidr } from '../../lib/net/cidr.ts';
import { bitsOf, isLinkLocal, parseIp } from '../../lib/net/ip.ts';
import { PrefixCover } from '../../lib/net/prefix-cover.ts';
import { specialUse } from '../../lib/net/special-use.ts';
import type { Node } from '../model/node.ts';
import type { Subnet } from '../model/subnet.ts';
import type { LearnedEntry, BgpNodeState, LearnedRoute } from '../model/bgp-node-state.ts';
import { hopKey } from '../settle/withheld-routes.ts';

export interface LearnedInput {
  /** Undefined if the node has no speaker. */
  readonly learned: BgpNodeState | undefined;
  readonly node: Node | undefined;
  readonly subnets: readonly Subnet[];
  /** Addresses of the node's interfaces. */
  readonly addresses: readonly string[];
  /** Further addresses of the node and the cluster that no learned route may cover. */
  readonly lifelines: LifelineFacts;
  /** Keys of `settle/withheld-routes.ts`: prefixes and next hops over which the API server was not reached. */
  readonly withheld: ReadonlySet<string>;
}

export interface LearnedPlan {
  readonly routes: readonly LearnedRoute[];
  readonly problems: readonly Problem[];
}

interface Cluster {
  /** Networks that the node routes into the overlay. Subnets of other VPCs may overlap with networks around the node. */
  readonly networks: PrefixCover;
  readonly lifelines: Lifelines;
  /** Addresses of the node's interfaces. */
  readonly own: ReadonlySet<string>;
}

export function planLearnedRoutes(input: LearnedInput): LearnedPlan {
  const { learned } = input;
  if (learned === undefined) return { routes: [], problems: [] };
  // The facts about the cluster take time that grows with its Subnets.
  if (learned.entries.length === 0) return { routes: [], problems: learned.problems.toSorted(byMessage) };
  const cluster = clusterOf(input);
  const problems = new Map<string, Problem>(learned.problems.map((problem) => [problem.message, problem]));
  const refuse = (code: string, message: string): void => void problems.set(message, { code, message });
  const byPrefix = new Map<string, LearnedEntry[]>();
  for (const entry of learned.entries) {
    const problem = prefixProblem(entry, cluster) ?? hopProblem(entry, cluster) ?? withheldProblem(entry, input);
    if (problem !== undefined) refuse(problem.code, problem.message);
    else byPrefix.set(entry.prefix, [...(byPrefix.get(entry.prefix) ?? []), entry]);
  }
  const routes = [...byPrefix].map(([destination, entries]) => ({ destination, choices: choicesOf(entries) }));
  return {
    routes: routes.sort((a, b) => (a.destination < b.destination ? -1 : 1)),
    problems: [...problems.values()].sort(byMessage),
  };
}

function byMessage(a: Problem, b: Problem): number {
  return a.message < b.message ? -1 : 1;
}

function clusterOf({ node, subnets, addresses, lifelines }: LearnedInput): Cluster {
  const networks = new PrefixCover();
  const add = (text: string, what: string): void => {
    const cidr = parseCidr(text);
    if (cidr !== undefined) networks.add(cidr, what);
  };
  const join = typeof node?.network === 'object' ? node.network.networks : [];
  for (const text of join) add(text, 'the join subnet');
  const routed = subnets.filter(({ isRouted }) => isRouted);
  for (const { name, networks: texts } of routed) for (const text of texts) add(text, `subnet ${name}`);
  return { networks, lifelines: new Lifelines(lifelines), own: new Set(addresses) };
}

function prefixProblem({ prefix }: LearnedEntry, { networks, lifelines }: Cluster): Problem | undefined {
  const cidr = parseCidr(prefix);
  if (cidr === undefined) return undefined;
  const own = networks.coverOf(cidr);
  const holder = own ?? lifelines.holderOf(cidr);
  const use = cidr.prefix === 0 ? undefined : specialUse(cidr);
  if (holder === undefined && use === undefined) return undefined;
  const cause = own === undefined ? `it is for ${use ?? holder}` : `it is within ${own}`;
  return {
    code: 'LearnedRouteRefused',
    message: `the node does not install a route for ${prefix}: ${cause}; deny it with a RoutePolicy`,
  };
}

function hopProblem({ nextHop, device }: LearnedEntry, { networks, own }: Cluster): Problem | undefined {
  const ip = parseIp(nextHop);
  if (ip === undefined) return undefined;
  const refuse = (cause: string): Problem => ({
    code: 'NextHopUnusable',
    message: `next hop ${nextHop} ${cause}; routes through it are not installed`,
  });
  const holder = networks.coverOf({ family: ip.family, network: ip.value, prefix: bitsOf(ip.family) });
  if (holder !== undefined) return refuse(`is in ${holder}`);
  if (own.has(nextHop)) return refuse('is an address of the node itself');
  return isLinkLocal(ip) && device === undefined ? refuse('is link-local and names no interface') : undefined;
}

function withheldProblem({ prefix, nextHop }: LearnedEntry, { withheld }: LearnedInput): Problem | undefined {
  if (!withheld.has(hopKey(prefix, nextHop))) return undefined;
  return {
    code: 'ApiServerLost',
    message: `the route for ${prefix} by ${nextHop} is withheld: the API server was unreachable through it, and is reachable without it; the route stays withheld until the router withdraws the prefix or announces it with another next hop`,
  };
}

function choicesOf(entries: readonly LearnedEntry[]): LearnedRoute['choices'] {
  const preferences = [...new Set(entries.map(({ preference }) => preference))].sort((a, b) => b - a);
  return preferences.map((preference) => {
    const same = entries.filter((entry) => entry.preference === preference);
    const hops = new Map(
      same.map(({ nextHop, device }) => [`${nextHop}%${device ?? ''}`, { address: nextHop, device }]),
    );
    return [...hops].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, hop]) => hop);
  });
}
