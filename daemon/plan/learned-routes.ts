/**
 * What the node's speaker learned → the kernel routes wanted for it. Pure. Whether a next hop is on a link only the kernel
 * knows: host/ takes, of each route, the first choice that has such next hops. Rule: no route for what belongs to the
 * cluster and no next hop in it, since the packet would come back for ever.
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
  /** Undefined where the node has no speaker. */
  readonly learned: BgpNodeState | undefined;
  readonly node: Node | undefined;
  readonly subnets: readonly Subnet[];
  /** Of the node's interfaces. */
  readonly addresses: readonly string[];
  /** What else of the node and the cluster no router may take. */
  readonly lifelines: LifelineFacts;
  /** Prefixes and next hops by which the API server was not reached: keys of `state/withheld.ts`. */
  readonly withheld: ReadonlySet<string>;
}

export interface LearnedPlan {
  readonly routes: readonly LearnedRoute[];
  readonly problems: readonly Problem[];
}

interface Cluster {
  /** What the node itself routes into the overlay. Subnets of other VPCs may overlap with what is around the node. */
  readonly networks: PrefixCover;
  readonly lifelines: Lifelines;
  /** Of the node's interfaces. */
  readonly own: ReadonlySet<string>;
}

export function planLearnedRoutes(input: LearnedInput): LearnedPlan {
  const { learned } = input;
  if (learned === undefined) return { routes: [], problems: [] };
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
    problems: [...problems.values()].sort((a, b) => (a.message < b.message ? -1 : 1)),
  };
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
    message: `the node has no route for ${prefix}: ${cause}; refuse it by a RoutePolicy`,
  };
}

function hopProblem({ nextHop, device }: LearnedEntry, { networks, own }: Cluster): Problem | undefined {
  const ip = parseIp(nextHop);
  if (ip === undefined) return undefined;
  const refuse = (cause: string): Problem => ({
    code: 'NextHopUnusable',
    message: `next hop ${nextHop} ${cause}; what leads there is left out`,
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
    message: `the node has no route for ${prefix} by ${nextHop}: the API server was not reached by it, and is without it; it stays so until the router takes the prefix back or has it by another next hop`,
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
