/**
 * QoSPolicies. In: such an object, and the objects that name it. Out: its status. The rows of its limits belong to these objects (`limit-rows.ts`); it stays
 * until none names it.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { QosPolicy, QosRule } from '../../model/external-objects.ts';
import type { View } from '../../model/view.ts';
import {
  policiesOf,
  readPolicy,
  usersOfPolicy,
  type PolicyUser,
  type ReadPolicy,
} from '../../settle/external/limits.ts';
import { obstacleConditions } from '../conditions.ts';
import { refusalEvents } from '../events.ts';
import type { Feature } from '../feature.ts';
import { finalizersWhile } from '../finalizers.ts';
import type { ObjectReport, StatusReport } from '../report.ts';

/** At most so many objects are named in a message. */
const namedUsers = 5;

/** As written, without fields that are not given: the API server returns it so. */
function shownRule(rule: QosRule): Readonly<Record<string, string | number>> {
  return Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== '' && value !== 0));
}

function deletionOf({ isDeleting }: QosPolicy, users: readonly PolicyUser[]): Problem | undefined {
  if (!isDeleting || users.length === 0) return undefined;
  const rest = users.length > namedUsers ? ` and ${users.length - namedUsers} more` : '';
  const names = users.slice(0, namedUsers).map(({ title }) => title);
  return { code: 'Deleting', message: `waits until these do not name it: ${names.join(', ')}${rest}` };
}

function statusOf(
  policy: QosPolicy,
  { rules, problem, limits }: ReadPolicy,
  users: readonly PolicyUser[],
): StatusReport {
  const conditions = obstacleConditions(policy.generation, problem, deletionOf(policy, users), 'QoSPolicyReady');
  const inOrder = rules.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const isInForce = problem === undefined || limits.length > 0;
  return {
    fields: {
      shared: policy.spec.isShared,
      bindingType: policy.spec.bindingType,
      bandwidthLimitRules: isInForce ? inOrder.map(shownRule) : null,
    },
    conditions,
    events: refusalEvents('ValidateQoSPolicyFailed', conditions, policy.conditions),
  };
}

function reportPolicy(view: View, name: string): readonly ObjectReport[] {
  const object = { kind: 'qosPolicies', name } as const;
  const policy = view.qosPolicies.get(name);
  if (policy === undefined) return [{ object }];
  const users = usersOfPolicy(view, name);
  const finalizers = finalizersWhile(users.length > 0, policy);
  return [{ object, finalizers, status: statusOf(policy, readPolicy(policy), users) }];
}

/** Keys: the name of the QoSPolicy. */
export const qosPolicyFeature: Feature = {
  name: 'qos-policy',
  all: (view) => view.qosPolicies.keys(),
  reads: (change) => policiesOf(change),
  report: reportPolicy,
};
