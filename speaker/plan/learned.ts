// Decides which prefixes of routers become routes: those that a RoutePolicy allows, of established sessions, and none that could cause a routing loop
// for the cluster's own traffic. The daemon and the controller create the routes from the BgpRouteSlices.
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
 * `Denied`: no rule allows it. `DefaultRoute`: no rule names the default route by its prefix. `PrefixInvalid`: not a valid prefix, or its addresses
 * are not routable. `Loop`: announced by our own AS, or by a cluster that has it through the interconnect. `OwnPrefix`: the node or the cluster uses
 * it. `OverLimit`: there are too many prefixes.
 */
type NotUsed = 'Denied' | 'DefaultRoute' | 'PrefixInvalid' | 'Loop' | 'OverLimit';

/** The result for the prefixes of one peer. */
export interface PeerLearned {
  readonly routes: readonly BgpRoute[];
  /** Number of unused prefixes, by reason. */
  readonly refused: ReadonlyMap<string, number>;
  /** The first prefixes that are refused because the cluster uses them, each with its holder. */
  readonly own: readonly OwnRefusal[];
}

export interface OwnRefusal {
  readonly prefix: string;
  readonly holder: string;
}

export interface Learned {
  /** Results by address of the peer, for peers with an import. */
  readonly peers: ReadonlyMap<string, PeerLearned>;
  /** Hits of import policies. */
  readonly hits: Hits;
}

/** Maximum number of own prefixes listed for one peer. */
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

/** The routes of all peers. */
export function learnedRoutesOf({ peers }: Learned): readonly BgpRoute[] {
  return [...peers.values()].flatMap(({ routes }) => routes);
}

/** The former routes of peers that still import and are established, so that a start of the speaker removes no routes. */
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

/** The route for a prefix, or the reason why there is none. @param verdict verdict of the peer's policies */
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
  // Evaluated lazily, because a router may send thousands of prefixes.
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

/** Whether a rule names this exact prefix, rather than a range that contains it, so that a wide rule does not allow more than was intended. */
function isNamed(policies: BgpPolicies, decidedBy: Decision | undefined, cidr: Cidr): boolean {
  if (decidedBy?.rule === undefined) return false;
  const { applied } = policies.set.judged.get(decidedBy.policy) ?? {};
  const named = applied?.spec.rules[decidedBy.rule]?.match.prefixes ?? [];
  return named.some(({ cidr: text }) => {
    const own = parseCidr(text);
    return own !== undefined && formatCidr(own) === formatCidr(cidr);
  });
}
