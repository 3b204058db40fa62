import type { ClusterAction, ClusterTier } from '../../../lib/policies/policy.ts';
import { deniesPass, rulePriority, tierPriorities, type RulePosition } from '../../../lib/policies/rule-place.ts';
import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import type { ClusterPolicy } from '../../model/objects.ts';
import type { Capabilities, PolicyPlace } from '../../model/view.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { policyTiers } from '../acl-tier/tiers.ts';

/** Above all rules, with tiers and without. */
const exemptionPriority = tierPriorities.Admin.first + 1;

/** Where a rule of a policy is. */
export interface RulePlace {
  readonly policy: ClusterPolicy;
  readonly place: PolicyPlace;
  readonly direction: PolicyDirection;
  readonly rule: number;
}

/** Whether no other rule of the tier comes after a rule. */
function isLast({ policy, place, direction, rule }: RulePlace): boolean {
  return !place.isFollowed[direction] && rule === (policy[direction]?.length ?? 0) - 1;
}

export function positionOf({ policy, place, direction, rule }: RulePlace): RulePosition {
  return { tier: policy.tier, before: place[direction] + rule };
}

/** Whether a rule denies what it should pass on. */
export function isClosedPass({ aclTier }: Capabilities, where: RulePlace): boolean {
  const { policy, direction, rule } = where;
  return !aclTier && deniesPass(policy[direction]?.[rule]?.action, policy.tier, isLast(where));
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
  return { ...stageOf(capabilities, direction, 'Admin'), priority: exemptionPriority, match, action: 'allow-related' };
}

/** The ACL of a match of a rule that has this action in force; undefined for one that passes on what no further rule of the tier would see. */
export function clusterAcl(
  capabilities: Capabilities,
  where: RulePlace,
  action: ClusterAction,
  match: string,
): Acl | undefined {
  const { policy, direction } = where;
  const { tier } = policy;
  const priority = rulePriority(positionOf(where));
  const of = (one: Acl['action']): Acl => ({
    ...stageOf(capabilities, direction, tier),
    priority,
    match,
    action: one,
    ...(one === 'drop' && capabilities.dropSamples === true && { isSampled: true }),
  });
  if (action === 'Accept') return of('allow-related');
  if (action !== 'Pass') return of('drop');
  // No tier follows the last one.
  if (tier === 'Baseline') return of('allow-related');
  if (capabilities.aclTier) return of('pass');
  return isClosedPass(capabilities, where) ? of('drop') : undefined;
}
