/**
 * Which rule of which policy decides about a prefix between this cluster and another, by the functions that the agent decides by; it
 * explains. Pure.
 */
import type { RoutePolicySpec } from '../../lib/api/kinds/route-policy.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { CompiledPolicy, CompiledRule } from '../../lib/route-policy/check.ts';
import { compilePolicies, type PolicySet } from '../../lib/route-policy/compile.ts';
import { decide, matchesTraits } from '../../lib/route-policy/decide.ts';
import {
  type Decision as RuleDecision,
  isForClusters,
  learnedOrigin,
  type RoutePolicy,
  speaksOfLearned,
} from '../../lib/route-policy/policy.ts';

export interface Decision extends RuleDecision {
  readonly action: 'Allow' | 'Deny';
}

type Direction = RoutePolicySpec['direction'];

export interface Subject {
  readonly cidr: Cidr;
  /** The other one: that offers it, or is told of it. */
  readonly cluster: string;
  readonly transitSwitch: string;
  readonly vpc: string;
  readonly origin?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** Undefined where no policy has anything to say: then all are allowed, but for telling others of a router's prefix. */
export function decisionOf(
  policies: readonly RoutePolicy[],
  direction: Direction,
  { cidr, cluster, transitSwitch, vpc, origin = '', tags = [] }: Subject,
): Decision | undefined {
  const { imports, exports } = compiled(policies);
  const isCareful = direction === 'Export' && origin === learnedOrigin;
  const isMeant = (rule: CompiledRule): boolean =>
    rule.clusters?.has(cluster) !== false &&
    matchesTraits(rule, { origin, vpc, tags }) &&
    !(isCareful && rule.isAllowed && !speaksOfLearned(rule));
  const actionWithoutRule = ({ spec: { defaultAction } }: CompiledPolicy) =>
    isCareful && defaultAction === 'Allow' ? 'Next' : defaultAction;
  const asked = (direction === 'Import' ? imports : exports).filter(
    ({ transitSwitches }) => transitSwitches?.has(transitSwitch) !== false,
  );
  const decided = decide(asked, cidr, isMeant, actionWithoutRule);
  return decided && { ...decided.decidedBy, action: decided.isAllowed ? 'Allow' : 'Deny' };
}

const known = new WeakMap<readonly RoutePolicy[], PolicySet>();

/** One reading is asked about many prefixes. */
function compiled(policies: readonly RoutePolicy[]): PolicySet {
  const set = known.get(policies) ?? compilePolicies(policies.filter(isForClusters));
  known.set(policies, set);
  return set;
}
