import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import { vendorIds } from '../names.ts';
import { firstTier, lastTier } from './names.ts';

export interface Acl {
  /** `to-lport`: what reaches a port; `from-lport`: what it sends. */
  readonly direction: 'to-lport' | 'from-lport';
  readonly priority: number;
  readonly match: string;
  readonly action: 'allow-related' | 'drop' | 'pass';
  /** Undefined if OVN has none. */
  readonly tier: number | undefined;
}

/** The tiers that security groups use; a single unnamed one where OVN has none. */
export function tiersOf({ capabilities }: Pick<View, 'capabilities'>): readonly (number | undefined)[] {
  return capabilities.aclTier ? [firstTier, lastTier] : [undefined];
}

/** Keyed by its content, so that an edit of one rule touches one row. */
export function aclRow(group: string, { direction, priority, match, action, tier }: Acl): DesiredRow {
  return {
    table: 'ACL',
    key: `${group}/${direction}/${tier ?? ''}/${priority}/${action}/${match}`,
    columns: {
      direction,
      priority,
      match,
      action,
      ...(tier === undefined ? {} : { tier }),
      external_ids: { ...vendorIds, parent: group },
    },
    parent: { table: 'Port_Group', key: group, column: 'acls' },
  };
}
