import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { gateAction, gateTiers } from '../acl-tier/tiers.ts';
import { matchFamily, vendorIds } from '../names.ts';
import type { View } from '../../model/view.ts';
import type { CheckedAcl } from './acl-items.ts';

export type Rule = CheckedAcl & {
  readonly columns?: DesiredRow['columns'];
  readonly ids?: Readonly<Record<string, string>>;
};

/** An ACL of a subnet's switch. `group` keeps rows of different owners apart. */
export function aclRow(view: View, group: string, subnet: string, rule: Rule): DesiredRow {
  const { direction, priority, match, action, columns, ids } = rule;
  const { capabilities } = view;
  return {
    table: 'ACL',
    // By the columns that identify an ACL, so that another action or another place in the list is not another row.
    key: [group, subnet, direction, priority, match].join('/'),
    columns: {
      direction,
      priority,
      match,
      action: gateAction(capabilities, direction, action),
      ...(capabilities.aclTier ? { tier: gateTiers[0] } : {}),
      ...columns,
      external_ids: { ...vendorIds, parent: subnet, ...ids },
    },
    parent: { table: 'Logical_Switch', key: subnet, column: 'acls' },
  };
}

export function cidrsOf(net: SubnetNet | undefined): readonly Cidr[] {
  return [net?.v4, net?.v6].flatMap((part) => (part === undefined ? [] : [part.cidr]));
}

/** A match for traffic from one network to another. */
export function between(family: 4 | 6, source: string, destination: string): string {
  const ip = matchFamily(family);
  return `${ip}.src == ${source} && ${ip}.dst == ${destination}`;
}
