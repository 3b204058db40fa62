import type { PolicyDirection } from '../../../lib/policies/selection.ts';
import type { Capabilities } from '../../model/view.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';
import { policyTiers } from '../acl-tier/tiers.ts';
import { policyAcl } from './names.ts';

/** An ACL of policies in one direction. What a pod sends is judged after Services are translated, so that rules see endpoints. */
export function policyAclOf(
  { aclTier, dropSamples }: Capabilities,
  direction: PolicyDirection,
  kind: keyof typeof policyAcl,
  match: string,
): Acl {
  const isIngress = direction === 'ingress';
  return {
    direction: isIngress ? 'to-lport' : 'from-lport',
    priority: policyAcl[kind],
    match,
    action: kind === 'drop' ? 'drop' : 'allow-related',
    tier: aclTier ? policyTiers[isIngress ? 'to-lport' : 'after-lb'].policy : undefined,
    ...(isIngress ? {} : { isAfterLb: true }),
    ...(kind === 'drop' && dropSamples === true && { isSampled: true }),
  };
}
