import type { ClusterAction, ClusterTier } from '../../../lib/policies/policy.ts';
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import type { ClusterPolicy } from '../../model/objects.ts';
import type { Capabilities, PolicyPlace } from '../../model/view.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { policyTiers } from '../acl-tier/tiers.ts';

/**
 * Priorities of rules, the highest of which wins. Without tiers, Admin is above security groups, and Baseline between NetworkPolicies and private Subnets;
 * what always passes is above all of them.
 */
const clusterPriority = {
  exemption: 30_001,
  Admin: { first: 30_000, last: 20_000 },
  Baseline: { first: 1899, last: 1101 },
} as const;

/** Where a rule of a policy is. */
export interface RulePlace {
  readonly policy: ClusterPolicy;
  readonly place: PolicyPlace;
  readonly direction: PolicyDirection;
  readonly rule: number;
}

/** Whether a rule has no priority of its own: it shares the lowest one with others. */
export function isBeyond({ policy, place, direction, rule }: RulePlace): boolean {
  const { first, last } = clusterPriority[policy.tier];
  return first - place[direction] - rule < last;
}

/** Whether no other rule of the tier comes after a rule. */
function isLast({ policy, place, direction, rule }: RulePlace): boolean {
  return !place.isFollowed[direction] && rule === (policy[direction]?.length ?? 0) - 1;
}

/**
 * Whether a rule denies what it should pass on: without tiers, no action of OVN skips the rules that follow, and the API demands that such a rule fails closed.
 */
export function isClosedPass({ aclTier }: Capabilities, where: RulePlace): boolean {
  const { policy, direction, rule } = where;
  const isPass = policy[direction]?.[rule]?.action === 'Pass';
  return isPass && policy.tier === 'Admin' && !aclTier && !isLast(where);
}

function stageOf(
  { aclTier }: Capabilities,
  direction: PolicyDirection,
  tier: ClusterTier,
): Pick<Acl, 'direction' | 'tier' | 'isAfterLb'> {
  const isIngress = direction === 'ingress';
  const tiers = policyTiers[isIngress ? 'to-lport' : 'after-lb'];
  return {
    direction: isIngress ? 'to-lport' : 'from-lport',
    tier: aclTier ? tiers[tier === 'Admin' ? 'admin' : 'policy'] : undefined,
    ...(isIngress ? {} : { isAfterLb: true }),
  };
}

/** Allows what no policy of the whole cluster judges. */
export function exemptionAcl(capabilities: Capabilities, direction: PolicyDirection, match: string): Acl {
  const { exemption: priority } = clusterPriority;
  return { ...stageOf(capabilities, direction, 'Admin'), priority, match, action: 'allow-related' };
}

/** The ACL of a match of a rule that has this action in force; undefined for one that passes on what no further rule of the tier would see. */
export function clusterAcl(
  capabilities: Capabilities,
  where: RulePlace,
  action: ClusterAction,
  match: string,
): Acl | undefined {
  const { policy, place, direction, rule } = where;
  const { tier } = policy;
  const { first, last } = clusterPriority[tier];
  const priority = Math.max(last, first - place[direction] - rule);
  const of = (one: Acl['action']): Acl => ({ ...stageOf(capabilities, direction, tier), priority, match, action: one });
  if (action === 'Accept') return of('allow-related');
  if (action !== 'Pass') return of('drop');
  // No tier follows the last one.
  if (tier === 'Baseline') return of('allow-related');
  if (capabilities.aclTier) return of('pass');
  return isClosedPass(capabilities, where) ? of('drop') : undefined;
}
