import type { View } from '../../model/view.ts';
import { gateTiers } from '../acl-tier/tiers.ts';
import type { Acl } from '../acl-tier/port-group-acl.ts';

/** Tiers in OVN of the groups of tier 0 and 1. */
export const [firstTier, lastTier] = gateTiers;

/**
 * The tiers in which security groups drop what they do not allow; a single unnamed one where OVN has none. What reaches a pod is allowed by the first tier
 * with `pass`, so that the second one must drop nothing else than what a rule has passed on to groups of tier 1 (`passed-on.ts`).
 */
export function tiersOf(
  { capabilities }: Pick<View, 'capabilities'>,
  direction: Acl['direction'],
): readonly (number | undefined)[] {
  if (!capabilities.aclTier) return [undefined];
  return direction === 'to-lport' ? [firstTier] : gateTiers;
}
