import type { View } from '../../model/view.ts';
import { firstTier, lastTier } from './names.ts';

/** The tiers that security groups use; a single unnamed one where OVN has none. */
export function tiersOf({ capabilities }: Pick<View, 'capabilities'>): readonly (number | undefined)[] {
  return capabilities.aclTier ? [firstTier, lastTier] : [undefined];
}
