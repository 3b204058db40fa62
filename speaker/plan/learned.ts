// Which prefixes of routers are routes here: those that a RoutePolicy allows, of sessions that are up, and none that could lead traffic
// of the cluster's own in circles. The daemon and the controller make routes of them, by way of the BgpRouteSlices.
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { isInterconnectCommunity } from '../../lib/bgp/interconnect-community.ts';
import type { Lifelines } from '../../lib/bgp/lifelines.ts';
import type { BgpPolicies, ImportVerdict } from '../../lib/bgp/policies.ts';
import { byPrefix, type Cidr, formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { isLinkLocal, parseIp } from '../../lib/net/ip.ts';
import { specialUse } from '../../lib/net/special-use.ts';
import { type Decision, type Hits, tally } from '../../lib/route-policy/policy.ts';
import type { Received, ReceivedRoute } from '../model/received.ts';
import type { Observed } from '../model/observed.ts';
import type { SpeakerPlan, WantedPeer } from './plan.ts';
import { hitsOfStatus } from './policy-hits.ts';

/**
 * `Denied`: no rule allows it. `DefaultRoute`: none names it by its prefix. `PrefixInvalid`: it is none, or of addresses nobody routes.
 * `Loop`: our own AS, or a cluster that has it over the interconnect, announced it. `OwnPrefix`: the node or the cluster lives on it.
 * `OverLimit`: there are too many.
 */
type NotUsed = 'Denied' | 'DefaultRoute' | 'PrefixInvalid' | 'Loop' | 'OverLimit';

/** What becomes of the prefixes of one peer. */
export interface PeerLearned {
  readonly routes: readonly BgpRoute[];
  /** How many are not used, by reason. */
  readonly refused: ReadonlyMap<string, number>;
  /** The first of those that are refused as the cluster's own, each with what has it. */
  readonly own: readonly OwnRefusal[];
}

export interface OwnRefusal {
  readonly prefix: string;
  readonly holder: string;
}

export interface Learned {
  /** By address of the peer, for those that import. */
  readonly peers: ReadonlyMap<string, PeerLearned>;
  /** Of policies for what comes in. */
  readonly hits: Hits;
}

/** Of one peer. */
const mostNamed = 8;

export function planLearned(plan: SpeakerPlan, lifelines: Lifelines, observed: Observed, received: Received): Learned {
  const learned = new Map<string, PeerLearned>();
  const decisions: (Decision | undefined)[] = [];
  for (const peer of [...plan.peers.values()].toSorted((a, b) => (a.address < b.address ? -1 : 1))) {
    if (peer.import === undefined) continue;
    const isUp = observed.sessions.get(peer.address)?.state === 'Established';
    const routes = isUp ? [...(received.get(peer.address) ?? [])] : [];
    const result = choose(plan, lifelines, peer, routes, peer.import.maxPrefixes, decisions);
    learned.set(peer.address, result);
  }
  return { peers: learned, hits: tally(decisions) };
}

/** Of all peers. */
export function learnedRoutesOf({ peers }: Learned): readonly BgpRoute[] {
  return [...peers.values()].flatMap(({ routes }) => routes);
}

/** What was learned before, of peers that still import and are up: a speaker that starts takes nothing away. */
export function learnedBefore(
  plan: SpeakerPlan,
  observed: Observed,
  before: BgpNodeStateStatus,
  routes: readonly BgpRoute[],
): Learned {
  const { peers = [] } = before;
  const kept = [...plan.peers.values()].filter(
    (peer) => peer.import !== undefined && observed.sessions.get(peer.address)?.state === 'Established',
  );
  const known = kept.map(({ name, address }) => {
    const { notUsed = [], ownPrefixes: own = [] } = peers.find((peer) => peer.address === address) ?? {};
    const refused = new Map(notUsed.map(({ reason, count }) => [reason, count]));
    return [address, { routes: routes.filter(({ peer }) => peer === name), refused, own }] as const;
  });
  const imports = new Set(plan.routePolicies.set.imports.map(({ name }) => name));
  return { peers: new Map(known), hits: hitsOfStatus(before, (policy) => imports.has(policy)) };
}

function choose(
  plan: SpeakerPlan,
  lifelines: Lifelines,
  peer: WantedPeer,
  routes: readonly (readonly [string, ReceivedRoute])[],
  limit: number,
  decisions: (Decision | undefined)[],
): PeerLearned {
  const refused = new Map<string, number>();
  const refuse = (code: NotUsed): void => void refused.set(code, (refused.get(code) ?? 0) + 1);
  const used: BgpRoute[] = [];
  const own: OwnRefusal[] = [];
  for (const [prefix, route] of routes) {
    const verdict = plan.routePolicies.importVerdict(peer.name, { prefix, communities: route.communities });
    decisions.push(verdict.decidedBy);
    const outcome = judge(plan, lifelines, peer, prefix, route, verdict);
    if (typeof outcome === 'string') refuse(outcome);
    else if ('holder' in outcome) own.push(outcome);
    else used.push(outcome);
  }
  const sorted = byPrefix(used, (route) => route.prefix);
  for (const _ of sorted.slice(limit)) refuse('OverLimit');
  if (own.length > 0) refused.set('OwnPrefix', own.length);
  return {
    routes: sorted.slice(0, limit),
    refused,
    own: byPrefix(own, ({ prefix }) => prefix).slice(0, mostNamed),
  };
}

/** The route that a prefix becomes, or why it does not. @param verdict of the peer's policies */
export function judge(
  plan: Pick<SpeakerPlan, 'instance' | 'routePolicies' | 'table'>,
  lifelines: Lifelines,
  peer: Pick<WantedPeer, 'name' | 'import' | 'interface'>,
  prefix: string,
  { nextHop, asPath, communities }: ReceivedRoute,
  verdict: ImportVerdict,
): BgpRoute | OwnRefusal | NotUsed {
  const cidr = parseCidr(prefix);
  if (cidr === undefined) return 'PrefixInvalid';
  if (!verdict.isAllowed) return 'Denied';
  const isEverything = cidr.prefix === 0;
  // Asked of few: a router may send thousands of prefixes.
  const isMeant = (): boolean => isNamed(plan.routePolicies, verdict.decidedBy, cidr);
  if (isEverything && !isMeant()) return 'DefaultRoute';
  if (!isEverything && specialUse(cidr) !== undefined) return 'PrefixInvalid';
  if (plan.instance && asPath.includes(plan.instance.asn)) return 'Loop';
  if (communities.some(isInterconnectCommunity)) return 'Loop';
  const text = formatCidr(cidr);
  const announced = plan.table.routes.has(text) ? 'what this node announces' : undefined;
  const holder = lifelines.holderOf(cidr) ?? announced;
  if (holder !== undefined) return { prefix: text, holder };
  const taken = lifelines.takenBy(cidr);
  if (taken !== undefined && !isMeant()) return { prefix: text, holder: taken };
  return {
    prefix: text,
    peer: peer.name,
    nextHop: withLink(nextHop, peer),
    ...(asPath.length > 0 && { asPath: asPath.join(' ') }),
    preference: verdict.preference,
    ...(peer.import?.vpc !== undefined && { vpc: peer.import.vpc }),
    ...(verdict.tags.length > 0 && { tags: [...verdict.tags] }),
  };
}

function withLink(nextHop: string, { interface: device }: Pick<WantedPeer, 'interface'>): string {
  const ip = device === undefined ? undefined : parseIp(nextHop);
  return ip && isLinkLocal(ip) ? `${nextHop}%${device}` : nextHop;
}

/** By a rule that has this very prefix, and not a range that happens to hold it: so a wide rule takes no more than was thought of. */
function isNamed(policies: BgpPolicies, decidedBy: Decision | undefined, cidr: Cidr): boolean {
  if (decidedBy?.rule === undefined) return false;
  const { applied } = policies.set.judged.get(decidedBy.policy) ?? {};
  const named = applied?.spec.rules[decidedBy.rule]?.match.prefixes ?? [];
  return named.some(({ cidr: text }) => {
    const own = parseCidr(text);
    return own !== undefined && formatCidr(own) === formatCidr(cidr);
  });
}
