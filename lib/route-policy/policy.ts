/**
 * Route policies: which prefixes this cluster imports from other clusters and from routers, and which it exports to them.
 *
 * In: RoutePolicy objects parsed by `parse.ts`, and prefixes. Out: verdicts with the policy and rule that decided.
 * `compilePolicies` is called once per set of objects; the interconnect's verdicts are in its plans, those of BGP sessions
 * in lib/bgp. Every refusal has a problem that names the policy.
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
  /** The applied spec according to its status, while the present spec is refused. */
  readonly inForce: RoutePolicySpec | undefined;
  readonly status: RoutePolicyStatus;
  /** Value of the annotation `isthmus.network/from`: the origin of the object. */
  readonly from: string | undefined;
}

/** Whether the policy applies to prefixes of other clusters; a policy that names only BgpPeers does not. */
export function isAboutClusters(spec: RoutePolicySpec): boolean {
  return spec.bgpPeers === undefined || spec.transitSwitches !== undefined;
}

/** Whether the policy matters between clusters; judged by the spec in force if the present spec cannot be read. */
export function isForClusters({ spec, inForce }: Pick<RoutePolicy, 'spec' | 'inForce'>): boolean {
  const readable = 'code' in spec ? inForce : spec;
  return readable === undefined || isAboutClusters(readable);
}

/** Origin of a prefix that a cluster learned from its routers. */
export const learnedOrigin = 'bgp';

/**
 * Whether a rule of an export policy may export prefixes learned from routers: it must name an origin or a tag, which only import
 * policies set. Without this a rule with no such condition would make the cluster a transit for all prefixes of its routers.
 */
export function namesLearned({ origins, tags }: { readonly origins?: unknown; readonly tags?: unknown }): boolean {
  return origins !== undefined || tags !== undefined;
}

/** The policy and rule that decided on a prefix; `rule` is undefined if the policy's defaultAction decided. */
export interface Decision {
  readonly policy: string;
  readonly rule: number | undefined;
}

/** Decided prefixes by policy and rule. */
export type Hits = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** Number of prefixes that each rule decided. Decisions of a defaultAction and missing decisions count for no rule. */
export function tally(decisions: Iterable<Decision | undefined>): Hits {
  return tallyMany([...decisions].map((decision) => [decision, 1]));
}

/** Like `tally`, for decisions about several prefixes; a decision about no prefix does not count. */
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

/** Text of a decision for messages. */
export function describeDecision({ policy, rule }: Decision): string {
  return rule === undefined ? `defaultAction of RoutePolicy ${policy}` : `rules[${rule}] of RoutePolicy ${policy}`;
}
