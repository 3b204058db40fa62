/**
 * Where nothing of a switch is in the first tiers of ACLs. OVN ends a tier in which no ACL matched with a rule of its own,
 * which lets every packet through whose connection a later tier had closed, and opens the connection again by that: of one
 * that is forbidden while it lasts every second packet would pass. An ACL that matches everything and passes it on keeps
 * OVN from coming to that rule. In: ports of switches that have ACLs in later tiers, from the plans that put them there.
 * Out: a port group of these ports, with such ACLs. Rule: a plan with an ACL in a tier after the first contributes a port of
 * its switch.
 */
import { ref } from '../../../lib/desired/row.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import type { View } from '../../model/view.ts';

const group = 'isthmus.empty.tiers';
/** Those before the first that this room puts ACLs into. */
const tiers = [0, 1] as const;

function passOn(tier: number, direction: 'to-lport' | 'from-lport'): DesiredRow {
  return {
    table: 'ACL',
    key: [group, direction, tier].join('/'),
    columns: {
      direction,
      priority: 0,
      match: 'ip',
      action: 'pass',
      tier,
      external_ids: { ...vendorIds, parent: group },
    },
    parent: { table: 'Port_Group', key: group, column: 'acls' },
  };
}

function planEmptyTiers({ capabilities }: View): Desired {
  if (!capabilities.aclTier) return { rows: [] };
  return {
    rows: [
      { table: 'Port_Group', key: group, columns: { external_ids: vendorIds }, collects: ['ports'] },
      ...tiers.flatMap((tier) => [passOn(tier, 'to-lport'), passOn(tier, 'from-lport')]),
    ],
  };
}

/** For the switch of a port that has ACLs in later tiers: any one of its ports will do. */
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
