/**
 * Whether a start takes rules of policies from one port group to another. In: port groups of ACLs in the database, policies in force. Every port
 * that comes with them has to do so in the same transaction: in between, it would be isolated without the rules.
 */
import { selectionGroup } from '../../lib/policies/group-names.ts';
import { policyDirections, selectionOf } from '../../lib/policies/selection.ts';
import type { View } from '../model/view.ts';
import type { Northbound } from './northbound.ts';

export function hasMovedPolicies(
  northbound: Pick<Northbound, 'hasGroupsOfPolicies' | 'groupsOfAcls'>,
  { policies }: Pick<View, 'policies'>,
): boolean {
  if (northbound.hasGroupsOfPolicies()) return true;
  for (const [name, groups] of northbound.groupsOfAcls()) {
    const policy = policies.inForce.get(name);
    const selection = policy && selectionOf(policy);
    if (selection === undefined) continue;
    const wanted = policies
      .vpcs(name)
      .flatMap((vpc) => policyDirections.map((direction) => selectionGroup(selection, direction, vpc)));
    // Those of named ports have the same selection in their names.
    const present = [...groups].filter((group) => !group.endsWith('.port'));
    if (present.length > 0 && !present.some((group) => wanted.includes(group))) return true;
  }
  return false;
}
