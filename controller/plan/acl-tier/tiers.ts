/**
 * The order in which the ACLs of all features judge a packet, where OVN has tiers: Subnets and security groups first, then the policies of Kubernetes.
 * A stage that one feature ends with an allowing ACL skips the tiers of the others, so that what reaches a pod is allowed there by passing it on: the last
 * tier alone allows. What a pod sends is judged in two stages, the second one after load balancers have translated the packet; a packet has to pass both.
 */
import type { Capabilities } from '../../model/view.ts';

export const stages = ['to-lport', 'from-lport', 'after-lb'] as const;
export type Stage = (typeof stages)[number];

/** Subnets, private ones too, and security groups of tier 0, in one list by priority; then what the latter pass on to groups of tier 1. */
export const gateTiers = [0, 1] as const;

/** Cluster-wide policies of the tier Admin; then NetworkPolicies, and below them those of the tier Baseline. */
export const policyTiers = {
  'to-lport': { admin: 2, policy: 3 },
  'after-lb': { admin: 0, policy: 1 },
} as const;

export const lastTiers: Readonly<Record<Stage, number>> = {
  'to-lport': policyTiers['to-lport'].policy,
  'from-lport': gateTiers[1],
  'after-lb': policyTiers['after-lb'].policy,
};

/** The action in OVN of an ACL of a Subnet or a security group. */
export function gateAction<A extends string>({ aclTier }: Capabilities, direction: string, action: A): A | 'pass' {
  const isAllow = action === 'allow' || action === 'allow-related';
  return aclTier && direction === 'to-lport' && isAllow ? 'pass' : action;
}
