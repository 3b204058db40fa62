/**
 * The end of each tier of ACLs. OVN ends a tier in which no ACL matched with a rule of its own, which lets every packet through whose
 * connection another tier had closed, and opens the connection again by that: of one that is forbidden while it lasts every second
 * packet would pass. Nor does OVN track a connection that the last tier does not allow. ACLs that match everything, pass it on to the next tier
 * and allow it in the last one, keep OVN from coming to these rules. In: ports of switches that have ACLs in tiers, from the plans that
 * put them there. Out: a port group of these ports, with such ACLs. Rule: a plan with an ACL in a tier contributes a port of its switch.
 */
import { ref } from '../../../lib/desired/row.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { Feature } from '../feature.ts';
import type { View } from '../../model/view.ts';
import { vendorIds } from '../names.ts';
import { aclRow, portGroupRow } from './port-group-acl.ts';
import { lastTiers, stages } from './tiers.ts';

const group = 'isthmus.empty.tiers';

function ends(): readonly DesiredRow[] {
  return stages.flatMap((stage) =>
    Array.from({ length: lastTiers[stage] + 1 }, (_, tier) =>
      aclRow(group, {
        direction: stage === 'to-lport' ? stage : 'from-lport',
        isAfterLb: stage === 'after-lb',
        priority: 0,
        match: 'ip',
        action: tier === lastTiers[stage] ? 'allow-related' : 'pass',
        tier,
      }),
    ),
  );
}

function planEmptyTiers({ capabilities }: View): Desired {
  if (!capabilities.aclTier) return { rows: [] };
  return {
    rows: [portGroupRow(group, vendorIds), ...ends()],
  };
}

/** For the switch of a port that has ACLs in tiers: any one of its ports will do. */
export function throughEmptyTiers({ capabilities }: View, port: string): readonly Contribution[] {
  if (!capabilities.aclTier) return [];
  return [{ table: 'Port_Group', key: group, column: 'ports', values: [ref('Logical_Switch_Port', port)] }];
}

/** One key, `all`. */
export const emptyTiersFeature: Feature = {
  name: 'empty-tiers',
  all: () => ['all'],
  reads: () => [],
  plan: planEmptyTiers,
};
