/**
 * Prefixes that nodes learn from their routers by BGP, as routes of the default VPC. In: the BgpNodeStates that speakers write.
 * Out: the nodes that a prefix leads to, or why it has no route; `plan/bgp` plans rows and statuses from that. Rule: a prefix of this
 * cluster, of another cluster or of a user's route is never overridden.
 */
import { defaultVpc } from '../../../lib/api/names.ts';
import { Lifelines } from '../../../lib/bgp/lifelines.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { specialUse } from '../../../lib/net/special-use.ts';
import type { LearnedHop, LearnedRoute } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import { obstacleOf } from '../gateway/choice.ts';
import { joinAllocation } from '../node/join.ts';
import { servedAddresses } from '../node/traits.ts';
import { servedNet } from '../subnet/served-net.ts';
import { isReachable, networksOf } from '../vpc/next-hops.ts';
import { tablesOf, routedSubnetsOf } from '../vpc/routers.ts';
import { readStaticRoutes } from '../vpc/static-routes.ts';

/** The networks and routes that learned prefixes are compared with; the same for all prefixes of a round. */
export interface Rivals {
  readonly lifelines: Lifelines;
  /** Prefix → tables in which the user routes it. */
  readonly ownRoutes: ReadonlyMap<string, ReadonlySet<string>>;
  readonly tables: readonly string[];
  /** Prefixes that lead to routers of another cluster now. */
  readonly elsewhere: ReadonlySet<string>;
}

export function rivalsOf(view: View): Rivals {
  const own = networksOf(view, defaultVpc);
  const elsewhere = new Set<string>();
  const clusters = [...view.remoteClusters.values()].flatMap(({ name, routes, unlisted }) => {
    // This cluster's routers come before those of others.
    for (const { cidr, isLearned, isActive, transitSwitch } of routes)
      if (isLearned && isActive && view.transitSwitches.get(transitSwitch)?.vpc === defaultVpc)
        elsewhere.add(formatCidr(cidr));
    return [
      ...unlisted.map(({ cidr, transitSwitch }) => ({
        name: `${name}, which has more prefixes in ${formatCidr(cidr)} than are listed`,
        prefixes: [{ prefix: formatCidr(cidr), transitSwitch }],
      })),
      {
        name,
        prefixes: routes
          .filter(({ isLearned }) => !isLearned)
          .map(({ cidr, transitSwitch }) => ({ prefix: formatCidr(cidr), transitSwitch })),
      },
    ];
  });
  const lifelines = new Lifelines({
    subnets: routedSubnetsOf(view, defaultVpc).map((name) => {
      const net = servedNet(view, name);
      return {
        name,
        prefixes: [net?.v4, net?.v6].flatMap((part) => (part === undefined ? [] : [formatCidr(part.cidr)])),
      };
    }),
    routers: [{ name: defaultVpc, prefixes: own.map(formatCidr) }],
    transitSwitches: [...view.transitSwitches.values()].map(({ name, vpc, cidrs }) => ({
      name,
      vpc,
      prefixes: cidrs.map(formatCidr),
    })),
    clusters,
    services: [...view.serviceCidrs.values()].flatMap(({ cidrs }) => cidrs),
    // Kubelets write addresses of others, too.
    nodes: [...view.nodes.values()].map((node) => ({ name: node.name, prefixes: servedAddresses(view, node) })),
    gateways: [...view.remoteClusters.values()].map(({ name, gateways }) => ({ name, prefixes: gateways })),
    apiServers: view.capabilities.apiServer ?? [],
  });
  const ownRoutes = new Map<string, Set<string>>();
  for (const { policy, prefix, nextHop, table } of readStaticRoutes(view.vpcs.get(defaultVpc)?.spec).routes) {
    // One that leads nowhere yet is passed over by OVN, and takes nothing from others.
    if (policy !== 'dst-ip' || !isReachable(own, nextHop)) continue;
    const text = formatCidr(prefix);
    ownRoutes.set(text, (ownRoutes.get(text) ?? new Set()).add(table));
  }
  return { lifelines, ownRoutes, tables: [...tablesOf(view)].sort(), elsewhere };
}

interface Learner extends LearnedHop {
  readonly preference: number;
  readonly isHealthy: boolean;
}

function learnersOf(view: View, prefix: string, family: Family): readonly Learner[] {
  const learners: Learner[] = [];
  for (const { name, learned } of view.bgpNodeStates.values()) {
    const preference = learned.get(prefix);
    const node = preference === undefined ? undefined : view.nodes.get(name);
    const allocation = node === undefined ? undefined : joinAllocation(view, name);
    const address = family === 4 ? allocation?.v4 : allocation?.v6;
    if (preference === undefined || node === undefined || address === undefined) continue;
    learners.push({ node: name, address, preference, isHealthy: obstacleOf(view, node) === undefined });
  }
  return learners;
}

/**
 * A speaker that died with its node reports nothing more; if all speakers seem to be down, maybe only their reports are missing. `isElsewhere`:
 * the interconnect has given them up and leads to another cluster.
 */
function bestOf(learners: readonly Learner[], isElsewhere: boolean): readonly LearnedHop[] {
  const healthy = learners.filter(({ isHealthy }) => isHealthy);
  const pool = healthy.length > 0 || isElsewhere ? healthy : learners;
  const highest = Math.max(...pool.map(({ preference }) => preference));
  const best = pool.filter(({ preference }) => preference === highest);
  return best.map(({ node, address }) => ({ node, address })).sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** The route of a prefix; undefined if no node that could forward the packets has learned it. */
export function chooseLearned(view: View, prefix: string, rivals: Rivals): LearnedRoute | undefined {
  const cidr = parseCidr(prefix);
  if (cidr === undefined) return undefined;
  const hops = bestOf(learnersOf(view, prefix, cidr.family), rivals.elsewhere.has(prefix));
  if (hops.length === 0) return undefined;
  const problem = obstacleTo(cidr, rivals);
  if (problem !== undefined) return { hops: [], tables: [], problem };
  const taken = rivals.ownRoutes.get(prefix);
  const tables = rivals.tables.filter((table) => taken?.has(table) !== true);
  return { hops: tables.length === 0 ? [] : hops, tables };
}

function obstacleTo(cidr: Cidr, { lifelines }: Rivals): Problem | undefined {
  const prefix = formatCidr(cidr);
  const use = cidr.prefix === 0 ? undefined : specialUse(cidr);
  const holder = lifelines.holderOf(cidr);
  if (use === undefined && holder === undefined) return undefined;
  const cause = use === undefined ? `belongs to ${holder}` : `is for ${use}`;
  const advice = 'deny it with a RoutePolicy, or stop announcing it on the router';
  const message = `${prefix} does not become a route of Vpc ${defaultVpc}: it ${cause}; ${advice}`;
  return { code: 'LearnedRouteRefused', message };
}

/** Whether a prefix is a family's default route. */
export function isDefaultRoute(prefix: string): boolean {
  return prefix === '0.0.0.0/0' || prefix === '::/0';
}
