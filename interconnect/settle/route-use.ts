/** Which next hops of a cluster's routes are in use, and why the others are not. Pure. */
import type { Problem } from '../../lib/desired/problem.ts';
import { learnedOrigin } from '../../lib/route-policy/policy.ts';
import { type Offers, offerKey, ownOffers, type Offer } from '../model/offers.ts';
import type { Edges } from '../model/edges.ts';
import { choose, type Choice } from './choice.ts';
import type { JudgedRoute } from './judgement.ts';
import { usablePaths, type PathVerdict } from './paths.ts';

export interface HopUse {
  readonly switch: string;
  readonly address: string;
  readonly isUsed: boolean;
  /** Why it is not in use; undefined if it is, or if the whole route is rejected. */
  readonly problem: Problem | undefined;
}

export interface RouteUse {
  readonly prefix: string;
  readonly transitSwitch: string;
  readonly router: string;
  readonly origin: string;
  readonly tags: readonly string[];
  /** Whether this offer of the prefix is chosen: the prefix is routed over this network as soon as a path is up. */
  readonly isChosen: boolean;
  readonly hops: readonly HopUse[];
  readonly rejected: Problem | undefined;
}

/** By network: logical switches of the paths in use. */
export type Usable = ReadonlyMap<string, ReadonlySet<string>>;

export function usableOf(verdicts: readonly PathVerdict[]): Usable {
  const networks = new Set(verdicts.map(({ network }) => network));
  return new Map([...networks].map((network) => [network, usablePaths(verdicts, network)]));
}

/** The offers of one cluster, which compete with those of others. */
export function offersOf(
  { name, foreign }: { readonly name: string; readonly foreign: boolean },
  routes: readonly JudgedRoute[],
  usable: Usable,
): Offers {
  const offers = new Map<string, Offer[]>();
  for (const { prefix, router, transitSwitch, origin, preference, nextHops, rejected } of routes) {
    if (rejected !== undefined) continue;
    const key = offerKey(router, prefix);
    const isAlive = nextHops.some((hop) => usable.get(transitSwitch)?.has(hop.switch) === true);
    const isLearned = origin === learnedOrigin;
    const place = { cluster: name, network: transitSwitch, isForeign: foreign };
    const offer = { ...place, preference, isAlive, isLearned, isOwn: false };
    offers.set(key, [...(offers.get(key) ?? []), offer]);
  }
  return offers;
}

/** The offers of this cluster's own routers, by router and prefix. */
export function offersOfEdges(edges: Edges): Offers {
  const common = { cluster: ownOffers, network: '', isForeign: false, preference: 0 };
  const offer: Offer = { ...common, isAlive: true, isLearned: true, isOwn: true };
  const keys = [...edges].flatMap(([router, prefixes]) => [...prefixes.keys()].map((one) => offerKey(router, one)));
  return new Map(keys.map((key) => [key, [offer]]));
}

export function useRoutes(
  cluster: string,
  routes: readonly JudgedRoute[],
  verdicts: readonly PathVerdict[],
  offersFor: (key: string) => readonly Offer[],
): readonly RouteUse[] {
  const usable = usableOf(verdicts);
  const paths = new Map(verdicts.map((verdict) => [verdict.switch, verdict]));
  return routes.map((route): RouteUse => {
    const { prefix, router, transitSwitch, origin, tags, rejected } = route;
    const common = { prefix, transitSwitch, router, origin, tags };
    const choice = rejected === undefined ? choiceFor(cluster, route, offersFor) : undefined;
    const refused = rejected ?? overlapProblem(cluster, route, choice);
    if (refused !== undefined) {
      const hops = route.nextHops.map((hop) => ({ ...hop, isUsed: false, problem: undefined }));
      return { ...common, isChosen: false, hops, rejected: refused };
    }
    const backup = backupOf(cluster, route, choice);
    const hops = route.nextHops.map((hop): HopUse => {
      const isUsable = usable.get(transitSwitch)?.has(hop.switch) === true;
      const problem = isUsable ? backup : downOf(paths.get(hop.switch), prefix);
      return { ...hop, isUsed: problem === undefined, problem };
    });
    return { ...common, isChosen: backup === undefined, hops, rejected: undefined };
  });
}

/** What the other offers of the prefix mean for the route; undefined if nothing is offered. */
function choiceFor(
  cluster: string,
  { router, prefix, transitSwitch }: JudgedRoute,
  offersFor: (key: string) => readonly Offer[],
): Choice | undefined {
  const all = offersFor(offerKey(router, prefix));
  const own = all.find((offer) => offer.cluster === cluster && offer.network === transitSwitch);
  return own && choose(own, all);
}

/** The problem if another cluster offers the same prefix and comes first. */
function overlapProblem(cluster: string, route: JudgedRoute, choice: Choice | undefined): Problem | undefined {
  if (choice?.kind !== 'taken') return undefined;
  const message = `${route.prefix} of ${cluster} is also offered by ${choice.cluster}, which takes precedence; set a preference for one of the two with a RoutePolicy`;
  return { code: 'Overlap', message };
}

/** Why the route is only a backup, for one of another cluster or of this cluster's routers. */
function backupOf(cluster: string, route: JudgedRoute, choice: Choice | undefined): Problem | undefined {
  if (choice?.kind === 'own') {
    const message = `${route.prefix} leaves through a router of this cluster, which takes precedence over ${cluster}`;
    return { code: 'NotPreferred', message };
  }
  if (choice?.kind !== 'backup') return undefined;
  const why = choice.isByPolicy ? 'which a RoutePolicy prefers' : 'which comes first';
  return { code: 'NotPreferred', message: `${route.prefix} goes to ${choice.cluster} over ${choice.network}, ${why}` };
}

/** Why a path is not used: other paths are better, or it is down. */
function downOf(verdict: PathVerdict | undefined, prefix: string): Problem {
  if (verdict === undefined)
    return { code: 'NextHopDown', message: `${prefix}: its cluster has no port on this path yet` };
  const code = verdict.state === 'Down' ? 'NextHopDown' : verdict.state;
  return { code, message: verdict.message };
}
