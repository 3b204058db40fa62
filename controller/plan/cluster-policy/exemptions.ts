import type { Desired } from '../../../lib/desired/row.ts';
import { clusterGroup } from '../../../lib/policies/group-names.ts';
import { policyDirections } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { neverJudgedRows } from '../network-policy/never-judged.ts';
import { exemptionAcl } from './acl.ts';

/** What policies of the whole cluster do not judge: one group of all ports that any of them selects. */
function planExemptions({ capabilities }: View): Desired {
  const rows = policyDirections.flatMap((direction) =>
    neverJudgedRows(clusterGroup(direction), direction, (match) => exemptionAcl(capabilities, direction, match)),
  );
  return { rows };
}

/** One key, `all`. */
export const exemptionFeature: Feature = {
  name: 'exemptions',
  all: () => ['all'],
  reads: () => [],
  plan: planExemptions,
};
