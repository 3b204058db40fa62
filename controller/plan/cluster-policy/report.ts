import type { Problem } from '../../../lib/desired/problem.ts';
import { closedPassMessage } from '../../../lib/policies/closed-pass.ts';
import { tooManyRules } from '../../../lib/policies/rule-place.ts';
import { policyDirections } from '../../../lib/policies/selection.ts';
import { clusterPolicyKey, clusterPolicyStores, type ClusterPolicy } from '../../model/objects.ts';
import type { PolicyPlace, View } from '../../model/view.ts';
import { obstacleConditions, warnings } from '../conditions.ts';
import { idlePart } from '../network-policy/idle.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import { isClosedPass, positionOf } from './acl.ts';
import { inForce } from './rule-in-force.ts';

/** At most so many rules are named in a message. */
const namedRules = 3;

function ruleProblems(view: View, policy: ClusterPolicy, place: PolicyPlace): readonly Problem[] {
  return policyDirections.flatMap((direction) =>
    (policy[direction] ?? []).flatMap((rule, index): readonly Problem[] => {
      const where = { policy, place, direction, rule: index };
      const name = rule.name === '' ? '' : ` (${rule.name})`;
      const field = `spec.${direction}[${index}]${name}`;
      const { flaw } = rule;
      if (flaw !== undefined) return [{ code: 'NotSupported', message: `${field}: ${flaw}` }];
      if (isClosedPass(view.capabilities, where))
        return [{ code: 'NotSupported', message: `${field}: ${closedPassMessage}` }];
      const beyond = tooManyRules(positionOf(where));
      if (beyond !== undefined) return [{ code: 'TooManyRules', message: `${field}: ${beyond}` }];
      const { shortage } = inForce(view, rule);
      return shortage === undefined ? [] : [{ code: shortage.code, message: `${field}: ${shortage.message}` }];
    }),
  );
}

function problemOf(view: View, policy: ClusterPolicy, place: PolicyPlace): Problem | undefined {
  if (policy.subject === undefined)
    return { code: 'InvalidSubject', message: 'spec.subject has no known field: the policy selects no pod' };
  const problems = ruleProblems(view, policy, place);
  const [first] = problems;
  if (first === undefined) return undefined;
  const named = problems.slice(0, namedRules).map(({ message }) => message);
  const rest = problems.length > namedRules ? [`and ${problems.length - namedRules} more rules`] : [];
  return { code: first.code, message: [...named, ...rest].join('; ') };
}

/** What the condition of a policy in force says. */
function noticeOf(view: View, key: string, policy: ClusterPolicy, { rival }: PolicyPlace): Problem {
  const idle = idlePart(view, key, policy) ?? { code: 'PolicyReady', message: '' };
  if (rival === undefined) return idle;
  const message = `${rival} has the same priority and is older, so that its rules come first: use different priorities`;
  return { code: 'SamePriority', message: idle.message === '' ? message : `${message}; ${idle.message}` };
}

export function reportClusterPolicy(view: View, key: string, outcome: Outcome): readonly ObjectReport[] {
  for (const store of clusterPolicyStores) {
    const name = key.slice(key.indexOf('/') + 1);
    if (clusterPolicyKey(store, name) !== key) continue;
    const object = { kind: store, name };
    const policy = view[store].get(name);
    const place = view.policies.place(key);
    if (policy === undefined || policy.isDeleting || place === undefined) return [{ object }];
    const problem = problemOf(view, policy, place);
    const { code, message } = noticeOf(view, key, policy, place);
    const conditions = obstacleConditions(policy.generation, problem, refusalOf(outcome), code, message);
    return [{ object, status: { conditions, isShared: true, events: warnings(policy.conditions, conditions) } }];
  }
  return [];
}
