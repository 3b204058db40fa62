/**
 * Route policies: which prefixes this cluster takes from other clusters and from routers, and which it tells them.
 *
 * In: RoutePolicy objects as `parse.ts` made them, and prefixes. Out: verdicts with the policy and rule that decided.
 * `compilePolicies` is called once per set of objects; the interconnect's verdicts are in its plans, those of BGP sessions
 * in lib/bgp. Nothing is refused without a problem that names who refused it.
 */
import type { RoutePolicySpec, RoutePolicyStatus } from '../api/kinds/route-policy.ts';
import type { Problem } from '../desired/problem.ts';

/** A RoutePolicy object. */
export interface RoutePolicy {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly resourceVersion: string;
  readonly spec: RoutePolicySpec | Problem;
  /** What its status says is applied while the spec is refused. */
  readonly inForce: RoutePolicySpec | undefined;
  readonly status: RoutePolicyStatus;
  /** Value of the annotation `isthmus.network/from`: what made the object. */
  readonly from: string | undefined;
}

/** Whether it is about prefixes of other clusters; a policy that names only BgpPeers is not. */
export function isAboutClusters(spec: RoutePolicySpec): boolean {
  return spec.bgpPeers === undefined || spec.transitSwitches !== undefined;
}

/** Whether those who decide between clusters have to do with it: by the spec in force where the present one cannot be read. */
export function isForClusters({ spec, inForce }: Pick<RoutePolicy, 'spec' | 'inForce'>): boolean {
  const readable = 'code' in spec ? inForce : spec;
  return readable === undefined || isAboutClusters(readable);
}

/** Of a prefix that a cluster has from its routers. */
export const learnedOrigin = 'bgp';

/**
 * Whether a rule of an export policy may let out prefixes of routers: one that speaks of them, by origin or by a tag, which only an
 * import policy gives. A cluster must not become the way to half the world because a rule says nothing.
 */
export function speaksOfLearned({ origins, tags }: { readonly origins?: unknown; readonly tags?: unknown }): boolean {
  return origins !== undefined || tags !== undefined;
}

/** Who decided on a prefix; `rule` is undefined where the policy's defaultAction did. */
export interface Decision {
  readonly policy: string;
  readonly rule: number | undefined;
}

/** Decided prefixes by policy and rule. */
export type Hits = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** How many prefixes each rule decided. Decisions of a defaultAction, and none, count for no rule. */
export function tally(decisions: Iterable<Decision | undefined>): Hits {
  return tallyMany([...decisions].map((decision) => [decision, 1]));
}

/** The same where a decision is about several prefixes; one about none does not count. */
export function tallyMany(decisions: Iterable<readonly [decision: Decision | undefined, prefixes: number]>): Hits {
  const hits = new Map<string, Map<number, number>>();
  for (const [decision, prefixes] of decisions) {
    if (decision?.rule === undefined || prefixes === 0) continue;
    const { policy, rule } = decision;
    const counts = hits.get(policy) ?? new Map<number, number>();
    counts.set(rule, (counts.get(rule) ?? 0) + prefixes);
    hits.set(policy, counts);
  }
  return hits;
}

/** For messages: what decided. */
export function describeDecision({ policy, rule }: Decision): string {
  return rule === undefined ? `defaultAction of RoutePolicy ${policy}` : `rules[${rule}] of RoutePolicy ${policy}`;
}
