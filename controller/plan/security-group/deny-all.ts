import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { aclRow } from '../acl-tier/port-group-acl.ts';
import { tiersOf } from './tiers.ts';
import { denyAllGroup, groupPriority } from './names.ts';

/** Drops traffic that no group's rule allows, whatever happens to the groups. */
function planDenyAll(view: View): Desired {
  const group: DesiredRow = {
    table: 'Port_Group',
    key: denyAllGroup,
    columns: { external_ids: { ...vendorIds, type: 'security_group', sg: 'kubeovn_deny_all' } },
    collects: ['ports'],
  };
  const acls = (['to-lport', 'from-lport'] as const).flatMap((direction) =>
    tiersOf(view, direction).map((tier) => {
      const match = `${direction === 'to-lport' ? 'outport' : 'inport'} == @${denyAllGroup} && ip`;
      return aclRow(denyAllGroup, { direction, priority: groupPriority.deny, match, action: 'drop', tier });
    }),
  );
  return { rows: [group, ...acls] };
}

/** One key, `all`. */
export const denyAllFeature: Feature = {
  name: 'deny-all',
  all: () => ['all'],
  reads: () => [],
  plan: planDenyAll,
};
