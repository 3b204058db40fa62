import type { Problem } from '../../../lib/desired/problem.ts';
import type { PolicyRule } from '../../../lib/policies/policy.ts';
import { namedKeys } from '../../../lib/policies/selection.ts';
import type { View } from '../../model/view.ts';

/** The problem of a rule with a named port that has more numbers than the rule contains. `namespace`: that of its destinations, if they have one. */
export function numbersProblem(
  view: View,
  rule: PolicyRule,
  namespace: string | undefined,
  field: string,
): Problem | undefined {
  const key = namedKeys(rule, namespace).find((one) => view.policies.hasMoreNumbers(one));
  if (key === undefined) return undefined;
  const message = `${field}: pods give port ${key.slice(key.lastIndexOf('/') + 1)} too many numbers; the rule contains the lowest 64`;
  return { code: 'TooManyNumbers', message };
}
