import type { Desired } from '../../../lib/desired/row.ts';
import { isolationText } from '../../../lib/policies/acl-text.ts';
import { isolationGroup } from '../../../lib/policies/group-names.ts';
import { policyDirections } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';
import { dropMeterRows } from '../acl-tier/drop-meter.ts';
import { aclRow } from '../acl-tier/port-group-acl.ts';
import type { Feature } from '../feature.ts';
import { portTerm } from './names.ts';
import { neverJudgedRows } from './never-judged.ts';
import { policyAclOf } from './policy-acl.ts';

/** Drops what no rule of a policy allows. One group for all policies: a further policy on a port adds no ACL. */
function planIsolation({ capabilities }: View): Desired {
  const rows = policyDirections.flatMap((direction) => {
    const group = isolationGroup(direction);
    return [
      ...neverJudgedRows(group, direction, (match) => policyAclOf(capabilities, direction, 'base', match)),
      // One for each family, so that each port has flows of its own, which count its packets.
      ...(['ip4', 'ip6'] as const).map((family) => {
        const drop = policyAclOf(capabilities, direction, 'drop', `${portTerm(direction, group)} && ${family}`);
        return aclRow(group, { ...drop, text: isolationText(direction) });
      }),
    ];
  });
  // Before the ACLs of other owners that name the meter: without it, every packet would be a sample.
  return { rows: capabilities.dropSamples === true ? [...dropMeterRows(), ...rows] : rows };
}

/** One key, `all`. */
export const isolationFeature: Feature = {
  name: 'isolation',
  all: () => ['all'],
  reads: () => [],
  plan: planIsolation,
};
