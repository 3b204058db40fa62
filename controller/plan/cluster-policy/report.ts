import type { Problem } from '../../../lib/desired/problem.ts';
import { closedPassMessage } from '../../../lib/policies/closed-pass.ts';
import type { ClusterRule } from '../../../lib/policies/policy.ts';
import { domainsOf, policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import { clusterPolicyKey, clusterPolicyStores, type ClusterPolicy } from '../../model/objects.ts';
import { pendingNames } from '../../model/domain.ts';
import type { PolicyPlace, View } from '../../model/view.ts';
import { obstacleConditions, warnings } from '../conditions.ts';
import { numbersProblem } from '../network-policy/numbers.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import { isBeyond, isClosedPass } from './acl.ts';
import { ruleInForce } from './rule-in-force.ts';

/** At most so many rules are named in a message. */
const namedRules = 3;

function ruleProblems(view: View, policy: ClusterPolicy, place: PolicyPlace): readonly Problem[] {
  return policyDirections.flatMap((direction) =>
    (policy[direction] ?? []).flatMap((rule, index): readonly Problem[] => {
      const where = { policy, place, direction, rule: index };
      const field = fieldOf(direction, index, rule);
      const { flaw } = rule;
      if (flaw !== undefined) return [{ code: 'NotSupported', message: `${field}: ${flaw}` }];
      if (isClosedPass(view.capabilities, where))
        return [{ code: 'NotSupported', message: `${field}: ${closedPassMessage}` }];
      if (isBeyond(where)) {
        const message = `${field}: the tier ${policy.tier} has too many rules, and the order of those at its end is undefined: remove rules`;
        return [{ code: 'TooManyRules', message }];
      }
      if (ruleInForce(view, rule).isTooManyNetworks) {
        const effect = rule.action === 'Accept' ? 'accepts none of them' : 'denies everything';
        return [
          { code: 'TooManyNetworks', message: `${field}: has more than 10000 networks and nodes, and ${effect}` },
        ];
      }
      const numbers = numbersProblem(view, rule, undefined, field);
      if (numbers === undefined) return [];
      const effect = rule.action === 'Accept' ? '' : ', and denies all ports';
      return [{ ...numbers, message: `${numbers.message}${effect}` }];
    }),
  );
}

/** What is wrong with the domain names of a policy; the names that have addresses are in force. */
function domainProblem(view: View, policy: ClusterPolicy): Problem | undefined {
  const problems = (policy.egress ?? []).flatMap((rule, index) =>
    (rule.peers.domains ?? []).flatMap((name): readonly Problem[] => {
      const problem = view.domains.problem(name);
      return problem === undefined
        ? []
        : [{ ...problem, message: `${fieldOf('egress', index, rule)}: ${problem.message}` }];
    }),
  );
  return joined(problems, 'domain names');
}

/** The first problems of a list in one. */
function joined(problems: readonly Problem[], what: string): Problem | undefined {
  const [first] = problems;
  if (first === undefined) return undefined;
  const named = problems.slice(0, namedRules).map(({ message }) => message);
  const rest = problems.length > namedRules ? [`and ${problems.length - namedRules} more ${what}`] : [];
  return { code: first.code, message: [...named, ...rest].join('; ') };
}

function fieldOf(direction: PolicyDirection, index: number, { name }: ClusterRule): string {
  return `spec.${direction}[${index}]${name === '' ? '' : ` (${name})`}`;
}

function problemOf(view: View, policy: ClusterPolicy, place: PolicyPlace): Problem | undefined {
  if (policy.subject === undefined)
    return { code: 'InvalidSubject', message: 'spec.subject has no known field: the policy selects no pod' };
  return joined(ruleProblems(view, policy, place), 'rules');
}

/** What the condition of a policy in force says. */
function noticeOf({ rival }: PolicyPlace): Problem {
  if (rival === undefined) return { code: 'PolicyReady', message: '' };
  const message = `${rival} has the same priority and is older, so that its rules come first: use different priorities`;
  return { code: 'SamePriority', message };
}

export function reportClusterPolicy(view: View, key: string, outcome: Outcome): readonly ObjectReport[] {
  for (const store of clusterPolicyStores) {
    const name = key.slice(key.indexOf('/') + 1);
    if (clusterPolicyKey(store, name) !== key) continue;
    const object = { kind: store, name };
    const policy = view[store].get(name);
    const place = view.policies.place(key);
    if (policy === undefined || policy.isDeleting || place === undefined) return [{ object }];
    // What is wrong with names stays as it is while nobody asks.
    if (!view.domains.isAsking && domainsOf(policy).length > 0) return [{ object }];
    const problem = problemOf(view, policy, place);
    const { code, message } = noticeOf(place);
    const obstacle = refusalOf(outcome) ?? domainProblem(view, policy);
    const conditions = obstacleConditions(policy.generation, problem, obstacle, code, message);
    // A policy that has just been created waits for answers, which is no reason for a warning.
    const isPending = problem === undefined && obstacle?.code === pendingNames;
    const events = isPending ? [] : warnings(policy.conditions, conditions);
    return [{ object, status: { conditions, isShared: true, events } }];
  }
  return [];
}
