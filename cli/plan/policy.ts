/**
 * Finds the rule and policy that decide about a prefix between this cluster and another, with the same functions as the agent. It only explains.
 * Pure.
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
  namesLearned,
} from '../../lib/route-policy/policy.ts';

export interface Decision extends RuleDecision {
  readonly action: 'Allow' | 'Deny';
}

type Direction = RoutePolicySpec['direction'];

export interface Subject {
  readonly cidr: Cidr;
  /** The other cluster, which offers the prefix or to which it is offered. */
  readonly cluster: string;
  readonly transitSwitch: string;
  readonly vpc: string;
  readonly origin?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** Undefined if no policy applies: then all prefixes are allowed, except that a router's prefix is not offered to other clusters. */
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
    !(isCareful && rule.isAllowed && !namesLearned(rule));
  const actionWithoutRule = ({ spec: { defaultAction } }: CompiledPolicy) =>
    isCareful && defaultAction === 'Allow' ? 'Next' : defaultAction;
  const asked = (direction === 'Import' ? imports : exports).filter(
    ({ transitSwitches }) => transitSwitches?.has(transitSwitch) !== false,
  );
  const decided = decide(asked, cidr, isMeant, actionWithoutRule);
  return decided && { ...decided.decidedBy, action: decided.isAllowed ? 'Allow' : 'Deny' };
}

const known = new WeakMap<readonly RoutePolicy[], PolicySet>();

/** Cached, because many prefixes are evaluated for one reading. */
function compiled(policies: readonly RoutePolicy[]): PolicySet {
  const set = known.get(policies) ?? compilePolicies(policies.filter(isForClusters));
  known.set(policies, set);
  return set;
}
