/**
 * Decides which offered prefixes of another cluster may be used here. In: that cluster, this one, route policies, and the
 * prefixes of others. Out: each route with its preference, or with the problem that keeps it out. Pure. Rule: no update from
 * a remote cluster may change how local addresses are forwarded.
 */
import { cidrContains, cidrCovers, cidrsOverlap, formatCidr, parseCidr, type Cidr } from '../../lib/net/cidr.ts';
import { specialUse } from '../../lib/net/special-use.ts';
import { type Family, parseIp, type Ip, familyOf } from '../../lib/net/ip.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Member, NextHop, Route } from '../model/messages.ts';
import type { LocalRange, LocalView } from '../model/local.ts';
import type { OwnNetwork } from '../model/networks.ts';
import type { PolicySet } from '../../lib/route-policy/compile.ts';
import type { EncryptionFacts } from './encryption.ts';
import { importVerdict } from './policy/import.ts';
import { limitPrefixes, type Refusal } from './policy/limit.ts';
import { learnedOrigin, type Decision } from '../../lib/route-policy/policy.ts';

/** The input that the plans of all remote clusters share. */
export interface RemoteContext {
  readonly local: LocalView;
  /** Chassis of this cluster that have tunnels to others. */
  readonly gateways: readonly string[];
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  readonly policies: PolicySet;
  /** Absent: none. */
  readonly encryption?: EncryptionFacts;
  /** Aggregates that are offered in place of longer prefixes, by router. */
  readonly aggregates: ReadonlyMap<string, readonly Cidr[]>;
}

export interface JudgedRoute {
  readonly prefix: string;
  readonly transitSwitch: string;
  readonly router: string;
  readonly origin: string;
  readonly tags: readonly string[];
  readonly preference: number;
  /** Next hops of the prefix's family, on paths of this cluster. */
  readonly nextHops: readonly NextHop[];
  readonly rejected: Problem | undefined;
}

export interface Judgement {
  readonly routes: readonly JudgedRoute[];
  readonly decisions: readonly (Decision | undefined)[];
  readonly overLimit: readonly Refusal[];
}

/** A prefix of a member the hub answers for, of another cluster, which a foreign zone cannot take. */
export type NativeHolder = (
  network: string,
  cidr: Cidr,
  cluster: string,
) => { readonly cidr: Cidr; readonly holder: string } | undefined;

/**
 * Reasons that pass: a prefix refused for one of them was compared with the addresses here before, and is the same when
 * it is over.
 */
const passing: ReadonlySet<string | undefined> = new Set([undefined, 'NoGateway', 'NextHopUnreachable']);

/** Whether a prefix was used, or is only not reached for now, by the judgement before. */
export function wasTaken({ routes }: Judgement, prefix: string): boolean {
  return routes.some((route) => route.prefix === prefix && passing.has(route.rejected?.code));
}

/** `isTaken`: whether a prefix was used here before; nodes that get an address within it later do not change that. */
export function judgeRoutes(
  member: Member,
  context: RemoteContext,
  nativeHolder: NativeHolder,
  isTaken: (prefix: string) => boolean = () => false,
): Judgement {
  const decisions: (Decision | undefined)[] = [];
  const places = new Map(
    [...context.networks].map(([name, network]) => [name, { network, isReached: reachOf(network) }]),
  );
  const judged = member.routes.flatMap((route): JudgedRoute[] => {
    const place = places.get(route.transitSwitch);
    // A network that this cluster is not part of does not concern it.
    if (place === undefined) return [];
    const { network, isReached } = place;
    const common = commonOf(route, network, isReached);
    const problem = refuse(route, common.nextHops, { member, context, network, nativeHolder, isTaken });
    if (problem !== undefined) return [{ ...common, preference: 0, rejected: problem }];
    const verdict = importVerdict(context.policies, {
      cluster: member.name,
      vpc: network.vpc.router,
      transitSwitch: route.transitSwitch,
      cidr: route.prefix,
      origin: route.origin,
      tags: route.tags,
    });
    decisions.push(verdict.decidedBy);
    if (!verdict.allowed) return [{ ...common, preference: 0, rejected: verdict.problem }];
    return [{ ...common, tags: verdict.tags, preference: verdict.preference, rejected: undefined }];
  });
  return { ...limited(member.name, judged, context.policies), decisions };
}

/** Marks the routes that exceed a limit, among those that are otherwise allowed. */
function limited(cluster: string, judged: readonly JudgedRoute[], policies: PolicySet): Omit<Judgement, 'decisions'> {
  const allowed = judged.flatMap((route) =>
    route.rejected === undefined ? [{ transitSwitch: route.transitSwitch, cidr: route.prefix, route }] : [],
  );
  const overLimit = limitPrefixes(policies, cluster, allowed);
  if (overLimit.length === 0) return { routes: judged, overLimit };
  const problems = new Map(overLimit.map(({ prefix, problem }) => [prefix.route, problem]));
  return { routes: judged.map((route) => ({ ...route, rejected: problems.get(route) ?? route.rejected })), overLimit };
}

/** Whether an address is on a path of this cluster that has a gateway here; many routes have the same next hops. */
type Reach = (hop: NextHop, family: Family) => boolean;

function reachOf({ paths }: OwnNetwork): Reach {
  const open = paths.filter(({ order }) => order.length > 0);
  const cidrs = new Map(open.map((path) => [path.switch, path.cidrs.flatMap((text) => parseCidr(text) ?? [])]));
  const known = new Map<string, Ip | undefined>();
  return ({ switch: name, address }, family) => {
    const key = `${name} ${address}`;
    if (!known.has(key)) {
      const parsed = parseIp(address);
      const isOn = parsed !== undefined && cidrs.get(name)?.some((cidr) => cidrContains(cidr, parsed)) === true;
      known.set(key, isOn ? parsed : undefined);
    }
    const ip = known.get(key);
    return ip?.family === family;
  };
}

function commonOf(
  { prefix, transitSwitch, origin, tags, nextHops }: Route,
  network: OwnNetwork,
  isReached: Reach,
): Omit<JudgedRoute, 'preference' | 'rejected'> {
  const family = familyOf(prefix);
  const usable = nextHops.filter((hop) => isReached(hop, family));
  return { prefix, transitSwitch, router: network.vpc.router, origin, tags, nextHops: usable };
}

interface Case {
  readonly member: Member;
  readonly context: RemoteContext;
  readonly network: OwnNetwork;
  readonly nativeHolder: NativeHolder;
  readonly isTaken: (prefix: string) => boolean;
}

function refuse(
  route: Route,
  nextHops: readonly NextHop[],
  { member, context, network, nativeHolder, isTaken }: Case,
): Problem | undefined {
  const { prefix } = route;
  const { local } = context;
  const cidr = parseCidr(prefix);
  const special = cidr === undefined ? undefined : specialUse(cidr);
  if (cidr === undefined || special !== undefined) {
    const why = special === undefined ? '' : `: it holds addresses for ${special}`;
    return {
      code: 'PrefixInvalid',
      message: `"${prefix}" of ${member.name} is not a prefix that this cluster can use${why}`,
    };
  }
  if (route.via.includes(local.cluster)) {
    const message = `${prefix} of ${member.name} came from this cluster (${route.via.join(', ')}) and is ignored`;
    return { code: 'Loop', message };
  }
  const within = aggregateIn(route, cidr, context.aggregates.get(network.vpc.router) ?? []);
  if (within !== undefined) {
    const message = `${prefix}, which ${member.name} has from a router, contains ${formatCidr(within)}, an aggregate of this cluster: packets for its unused addresses would return here; aggregate smaller prefixes in the RoutePolicies of this cluster`;
    return { code: 'Loop', message };
  }
  const held = heldHere(cidr, local, network);
  if (held !== undefined) return overlap(prefix, member, held);
  const node = nodeIn(cidr, local, network);
  if (node !== undefined && !isTaken(prefix)) return overlap(prefix, member, node);
  if (!network.paths.some(({ order }) => order.length > 0)) {
    const message = `${prefix} of ${member.name}: no node of this cluster is a gateway; label one with ovn.kubernetes.io/ic-gw=true`;
    return { code: 'NoGateway', message };
  }
  if (member.gateways.length === 0)
    return { code: 'NextHopUnreachable', message: `${prefix} of ${member.name}: that cluster has no gateway now` };
  if (nextHops.length === 0) {
    const hops = route.nextHops.map(({ address }) => address).join(', ');
    const message = `${prefix} of ${member.name}: its next hops (${hops}) are not on a path of ${route.transitSwitch} that this cluster has`;
    return { code: 'NextHopUnreachable', message };
  }
  const other = member.foreign ? nativeHolder(network.name, cidr, member.name) : undefined;
  return other === undefined ? undefined : overlap(prefix, member, `${formatCidr(other.cidr)} of ${other.holder}`);
}

/**
 * Other clusters send here what is for the aggregate. Packets that no longer prefix takes would follow this prefix back
 * to them.
 */
function aggregateIn({ origin }: Route, cidr: Cidr, aggregates: readonly Cidr[]): Cidr | undefined {
  return origin === learnedOrigin ? aggregates.find((one) => cidrCovers(cidr, one)) : undefined;
}

/**
 * A local range inside the prefix wins by its longer mask, and must not keep the rest of the prefix from other
 * clusters.
 */
function heldHere(cidr: Cidr, local: LocalView, { name, vpc, cidrs }: OwnNetwork): string | undefined {
  const isHeld = (held: LocalRange): boolean => held.cidr.prefix <= cidr.prefix && cidrsOverlap(held.cidr, cidr);
  const range = vpc.ranges.find(isHeld);
  if (range !== undefined) return `${formatCidr(range.cidr)} (${range.name}) of this cluster`;
  const transit = cidrs.find((own) => isHeld({ name, cidr: own }));
  if (transit !== undefined) return `${formatCidr(transit)}, the addresses of ${name} itself`;
  return undefined;
}

/** A kubelet writes the addresses of its node: they keep a new prefix out, but do not remove one that is in use. */
function nodeIn(cidr: Cidr, local: LocalView, { vpc }: OwnNetwork): string | undefined {
  if (vpc.router !== defaultVpc) return undefined;
  const node = local.nodeAddresses.find(({ ip }) => cidrContains(cidr, ip));
  return node === undefined ? undefined : `the address of node ${node.node}`;
}

function overlap(prefix: string, member: Member, what: string): Problem {
  return {
    code: 'Overlap',
    message: `${prefix} of ${member.name} overlaps ${what}; it cannot be reached from this cluster`,
  };
}
