/**
 * The port groups and address sets of a former Kube-OVN's policies. In: their names, until the rows of the first round are in the database. Out: the same rows,
 * adopted, and none after that. Rule: they end once the policies are in force as rows of Isthmus, because OVN would go on to apply them as they were.
 */
import type { Desired } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';

function planFormer({ formerPolicyRows }: View): Desired {
  return { rows: formerPolicyRows.map(({ table, name }) => ({ table, key: name, columns: {} })) };
}

/** One key, `all`. */
export const formerPolicyFeature: Feature = {
  name: 'former-policies',
  all: () => ['all'],
  reads: (change) => (change.kind === 'formerPolicies' ? ['all'] : []),
  plan: planFormer,
};
