import type { Desired } from '../../../lib/desired/row.ts';
import { clusterGroup } from '../../../lib/policies/group-names.ts';
import { policyDirections } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';
import { aclRow, portGroupRow } from '../acl-tier/port-group-acl.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { portTerm } from '../network-policy/names.ts';
import { neverJudged } from '../network-policy/isolation.ts';
import { exemptionAcl } from './acl.ts';

/** What policies of the whole cluster do not judge: one group of all ports that any of them selects. */
function planExemptions({ capabilities }: View): Desired {
  const rows = policyDirections.flatMap((direction) => {
    const group = clusterGroup(direction);
    const port = portTerm(direction, group);
    return [
      portGroupRow(group, { ...vendorIds, type: 'network_policy' }),
      ...neverJudged[direction].map((match) =>
        aclRow(group, exemptionAcl(capabilities, direction, `${port} && ${match}`)),
      ),
    ];
  });
  return { rows };
}

/** One key, `all`. */
export const exemptionFeature: Feature = {
  name: 'exemptions',
  all: () => ['all'],
  reads: () => [],
  plan: planExemptions,
};
