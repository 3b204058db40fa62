/**
 * Explains why an address or a prefix is reachable or not. In: this cluster, the address, and the other cluster if it
 * can be read. Out: the route in use, the alternatives and why they are not used, and the changes that would be
 * necessary. Pure.
 */
import type { RemotePathStatus } from '../../lib/api/kinds/remote-cluster.ts';
import { cidrCovers, cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { bitsOf, formatIp, parseIp } from '../../lib/net/ip.ts';
import { specOf, type Snapshot } from '../model/snapshot.ts';
import { deniedTo, joinedVpcs, whyNotOffered } from './diagnose/prefixes.ts';
import { edgesAt, isTaken, stepsFor, offeringsOf, type Edge, type Offering } from './edges.ts';
import { accessHere, accessTo, offeredSubnets } from './own-subnets.ts';
import { decisionOf, type Decision } from './policy.ts';
import { listRoutes, type ListedRoute } from './routes.ts';

export interface Candidate {
  readonly route: ListedRoute;
  readonly isUsed: boolean;
  /** The reason why it is used or not, as a sentence without its subject. */
  readonly why: string;
  readonly policy: Decision | undefined;
}

export interface Why {
  readonly target: string;
  readonly answer: 'Local' | 'Edge' | 'Reached' | 'Refused' | 'NotReached' | 'NotOffered';
  readonly sentence: string;
  readonly local: readonly { readonly subnet: string; readonly vpc: string; readonly cidr: string }[];
  readonly candidates: readonly Candidate[];
  /** The other clusters, each with the offers of this cluster's subnets and router prefixes. */
  readonly offeredTo: readonly Offering[];
  /** The clusters that the Subnets there admit, which no route shows. */
  readonly access: readonly string[];
  /** The paths to the candidates' clusters. */
  readonly paths: readonly (RemotePathStatus & { readonly cluster: string })[];
  /** Changes that would be necessary. */
  readonly next: readonly string[];
}

/** An address as a prefix of full length, or a prefix; undefined if the text is neither. */
export function parseTarget(text: string): Cidr | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return parseCidr(text);
  return { family: ip.family, network: ip.value, prefix: bitsOf(ip.family) };
}

export function explainRoute(near: Snapshot, target: Cidr, far: Snapshot | undefined): Why {
  const local = localNets(near).filter(({ cidr }) => cidrsOverlap(cidr, target));
  const routes = listRoutes(near, undefined).routes.filter(
    ({ cidr }) => cidr !== undefined && cidrsOverlap(cidr, target),
  );
  const covering = routes.filter(({ cidr }) => cidr !== undefined && cidrCovers(cidr, target));
  const active = covering.filter(({ state }) => state === 'Active');
  const longest = Math.max(-1, ...active.map(({ cidr }) => cidr?.prefix ?? -1));
  const home = local
    .filter(({ cidr }) => cidrCovers(cidr, target))
    .toSorted((a, b) => b.cidr.prefix - a.cidr.prefix)[0];
  // A connected network has precedence over a route of the same length.
  const isLocal = home !== undefined && home.cidr.prefix >= longest;
  const edges = edgesAt(near, target);
  // Among prefixes learned from routers, this cluster's own have precedence.
  const edge = isLocal ? undefined : edges.find((one) => one.cidr.prefix >= longest && isTaken(one, routes));
  const winners = isLocal || edge !== undefined ? [] : active.filter(({ cidr }) => cidr?.prefix === longest);
  const before = isLocal
    ? `subnet ${home.subnet} of this cluster (${formatCidr(home.cidr)}) comes first`
    : edge && `routers of this cluster lead there by ${edge.prefix}`;
  const candidates = routes.map((route) => candidateOf(near, route, target, winners, before));
  const clusters = new Set(routes.map(({ cluster }) => cluster));
  const shared = {
    target: textOf(target),
    local: local.map(({ subnet, vpc, cidr }) => ({ subnet, vpc, cidr: formatCidr(cidr) })),
    candidates,
    offeredTo: [
      ...offeredSubnets(near, target),
      ...edges.flatMap((one) =>
        offeringsOf(
          near,
          one,
          near.remotes.map(({ name }) => name),
        ),
      ),
    ],
    access: [],
    paths: pathsOf(near, clusters),
  };
  if (isLocal)
    return {
      ...shared,
      answer: 'Local',
      sentence: `${textOf(target)} is in subnet ${home.subnet} (${formatCidr(home.cidr)}) of this cluster`,
      access: accessHere(near, home.subnet),
      next: [],
    };
  if (edge !== undefined) return { ...shared, answer: 'Edge', sentence: leavesBy(target, edge), next: [] };
  if (winners.length > 0) return { ...shared, ...reached(near, far, target, winners) };
  if (routes.length > 0)
    return {
      ...shared,
      answer: 'NotReached',
      sentence: notReached(target, covering),
      next: nextSteps(covering.length > 0 ? covering : routes),
    };
  return {
    ...shared,
    answer: 'NotOffered',
    sentence: `no cluster offers ${textOf(target)}`,
    next: offers(near, far, target),
  };
}

/** The result if a route exists; whether the subnet admits the packets is a separate question. */
function reached(
  near: Snapshot,
  far: Snapshot | undefined,
  target: Cidr,
  winners: readonly ListedRoute[],
): Pick<Why, 'answer' | 'sentence' | 'access' | 'next'> {
  const { isRefused, notes, next } = accessTo(near, far, winners[0]?.cluster ?? '', target);
  const way = wayTo(target, winners);
  if (!isRefused) return { answer: 'Reached', sentence: way, access: notes, next };
  return {
    answer: 'Refused',
    sentence: `${way}; but a private Subnet there refuses ${near.label}`,
    access: notes,
    next,
  };
}

interface LocalNet {
  readonly subnet: string;
  readonly vpc: string;
  readonly cidr: Cidr;
}

/** Networks of participating VPCs: other VPCs have their own routers. */
function localNets(near: Snapshot): readonly LocalNet[] {
  const joined = joinedVpcs(near);
  return near.subnets.flatMap(({ name, vpc, cidrs }) =>
    joined.has(vpc) ? cidrs.map((cidr) => ({ subnet: name, vpc, cidr })) : [],
  );
}

function textOf(target: Cidr): string {
  return target.prefix === bitsOf(target.family)
    ? formatIp({ family: target.family, value: target.network })
    : formatCidr(target);
}

function wayTo(target: Cidr, winners: readonly ListedRoute[]): string {
  const [first] = winners;
  const hops = [...new Set(winners.map(({ nextHop, transitSwitch }) => `${nextHop} on ${transitSwitch}`))].join(', ');
  return `${textOf(target)} has a route to cluster ${first?.cluster ?? ''} by ${first?.prefix ?? ''}, ${first?.nextHop === '' ? hops.trimStart() : `next hop ${hops}`}`;
}

function leavesBy(target: Cidr, { prefix, nodes, peers }: Edge): string {
  const by = `learned by ${nodes.join(', ')} from ${peers.join(', ')}`;
  return `${textOf(target)} leaves by routers of this cluster: ${prefix}, ${by}`;
}

function notReached(target: Cidr, covering: readonly ListedRoute[]): string {
  const reasons = [
    ...new Set(covering.map(({ cluster, prefix, reason, state }) => `${prefix} of ${cluster}: ${reason ?? state}`)),
  ];
  if (reasons.length === 0) return `${textOf(target)} is not offered as a whole by any cluster; parts of it are`;
  return `${textOf(target)} is offered, but cannot be reached (${reasons.join('; ')})`;
}

function candidateOf(
  near: Snapshot,
  route: ListedRoute,
  target: Cidr,
  winners: readonly ListedRoute[],
  before: string | undefined,
): Candidate {
  const vpc =
    near.transitSwitches.find(({ name }) => name === route.transitSwitch)?.status.vpc ?? specOf(near)?.vpc ?? '';
  const { cidr } = route;
  const policy = cidr === undefined ? undefined : decisionOf(near.policies, 'Import', { ...route, cidr, vpc });
  const isUsed = winners.includes(route);
  return { route, isUsed, why: whyOf(route, target, isUsed, winners, before), policy };
}

function whyOf(
  route: ListedRoute,
  target: Cidr,
  isUsed: boolean,
  winners: readonly ListedRoute[],
  before: string | undefined,
): string {
  if (isUsed)
    return winners.length > 1 ? `longest match, one of ${winners.length} that share the traffic` : 'longest match';
  if (route.state !== 'Active') return route.message ?? route.reason ?? route.state;
  if (route.cidr !== undefined && !cidrCovers(route.cidr, target)) return `a part of ${textOf(target)} only`;
  if (before !== undefined) return before;
  return `a longer prefix wins: ${winners[0]?.prefix ?? ''}`;
}

function pathsOf(near: Snapshot, clusters: ReadonlySet<string>): Why['paths'] {
  return near.remotes.flatMap(({ name, status }) =>
    clusters.has(name) ? (status.paths ?? []).map((path) => ({ ...path, cluster: name })) : [],
  );
}

const hints: Readonly<Record<string, string>> = {
  Overlap: 'give one of the two networks other addresses, or do not share the other one (disableInterConnection: true)',
  Denied: 'change the RoutePolicy in the message',
  MaxPrefixes: 'raise maxPrefixes of the RoutePolicy in the message, or let the other cluster aggregate',
  NextHopDown: 'repair a path: isthmus ic diagnose CLUSTER shows what is wrong with it',
  NextHopUnreachable: 'isthmus ic diagnose CLUSTER shows what is missing between the two',
  NoGateway: 'label a gateway node here: kubectl label node NODE ovn.kubernetes.io/ic-gw=true',
  NotPreferred: 'another route to it is preferred: see setPreference of the RoutePolicies',
  Loop: 'it is a prefix of this cluster that another cluster offered back: nothing to do',
};

function nextSteps(routes: readonly ListedRoute[]): readonly string[] {
  const steps = routes.flatMap(({ reason, cluster }) => {
    const hint = hints[reason ?? ''];
    return hint === undefined ? [] : [hint.replace('CLUSTER', cluster)];
  });
  return [...new Set(steps)];
}

/** The requirements for a prefix to be offered; the actual obstacle if the other cluster can be read. */
function offers(near: Snapshot, far: Snapshot | undefined, target: Cidr): readonly string[] {
  const held = far?.subnets.filter(({ cidrs, wished }) =>
    [...cidrs, ...wished.split(',').flatMap((text) => parseCidr(text.trim()) ?? [])].some((cidr) =>
      cidrsOverlap(cidr, target),
    ),
  );
  const [subnet] = held ?? [];
  const [edge] = far === undefined ? [] : edgesAt(far, target);
  const steps = far === undefined || edge === undefined ? [] : stepsFor(far, edge, near.label);
  if (subnet === undefined && steps.length > 0) return steps;
  if (far !== undefined && subnet !== undefined) {
    const obstacle = whyNotOffered(far, subnet);
    if (obstacle !== undefined) return [`${obstacle.message}: ${obstacle.fix}`];
    const policies = deniedTo(near.label, far, subnet, target);
    if (policies !== undefined)
      return [
        `subnet ${subnet.name} of ${far.label} is withheld by its RoutePolicy ${policies}: change it, or keep it if intended`,
      ];
    return [
      `subnet ${subnet.name} of ${far.label} could be offered: see export policies and NoConflicts of ${far.label}, and allowedPrefixes of its HubMember`,
    ];
  }
  const members = near.remotes.map(({ name }) => name).join(', ');
  const where = members === '' ? 'another cluster, which has to join first' : `one of ${members}`;
  return [
    `it needs a ready Subnet with that address in ${where}, in a VPC that takes part in a transit switch, without disableInterConnection`,
    'no Export policy there may deny it, and the hub must allow it (allowedPrefixes and maxPrefixes of the HubMember)',
    'with --peer-kubeconfig this command checks the other cluster itself',
  ];
}
