import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import type { Capabilities } from '../../model/view.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { policyAcl, policyTier } from './names.ts';

/**
 * An ACL of policies in one direction. What a pod sends is judged after Services are translated, so that rules see endpoints; no other ACL is
 * in that stage. What reaches a pod is allowed by passing it on to the next tiers, where OVN has tiers.
 */
export function policyAclOf(
  { aclTier }: Capabilities,
  direction: PolicyDirection,
  kind: keyof typeof policyAcl,
  match: string,
): Acl {
  const isIngress = direction === 'ingress';
  const allow = isIngress && aclTier ? 'pass' : 'allow-related';
  return {
    direction: isIngress ? 'to-lport' : 'from-lport',
    priority: policyAcl[kind],
    match,
    action: kind === 'drop' ? 'drop' : allow,
    tier: aclTier ? policyTier : undefined,
    ...(isIngress ? {} : { isAfterLb: true }),
  };
}
