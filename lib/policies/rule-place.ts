/**
 * The places of rules among the priorities of OVN. In: a tier, and how many rules come before. Out: the priority of an ACL, and what a rule does that has none
 * of its own, or no way to pass on. Pure.
 */
import type { ClusterAction, ClusterTier } from './policy.ts';

/** The priorities of the rules of a tier. Without ACL tiers, Admin is above security groups, and Baseline between NetworkPolicies and private Subnets. */
export const tierPriorities: Readonly<Record<ClusterTier, { readonly first: number; readonly last: number }>> = {
  Admin: { first: 30_000, last: 20_000 },
  Baseline: { first: 1899, last: 1101 },
};

export interface RulePosition {
  readonly tier: ClusterTier;
  /** How many rules of the tier and direction come before. */
  readonly before: number;
}

/** The highest wins. */
export function rulePriority({ tier, before }: RulePosition): number {
  const { first, last } = tierPriorities[tier];
  return Math.max(last, first - before);
}

/** Says that a rule has no priority of its own, because it shares the lowest one with others; undefined if it has. */
export function tooManyRules({ tier, before }: RulePosition): string | undefined {
  const { first, last } = tierPriorities[tier];
  if (first - before >= last) return undefined;
  return `the tier ${tier} has too many rules, and the order of those at its end is undefined: remove rules`;
}

/**
 * Whether a rule denies what it should pass on: without tiers, no action of OVN skips the rules that follow, and the API demands that such a rule fails closed.
 */
export function deniesPass(action: ClusterAction | undefined, tier: ClusterTier, isLast: boolean): boolean {
  return action === 'Pass' && tier === 'Admin' && !isLast;
}
