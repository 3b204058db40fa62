import type { Problem } from '../../../lib/desired/problem.ts';
import { closedPassMessage } from '../../../lib/policies/closed-pass.ts';
import type { ClusterRule } from '../../../lib/policies/policy.ts';
import { tooManyRules } from '../../../lib/policies/rule-place.ts';
import { domainsOf, policyDirections, type PolicyDirection } from '../../../lib/policies/selection.ts';
import { clusterPolicyKey, clusterPolicyStores, type ClusterPolicy } from '../../model/objects.ts';
import { pendingNames } from '../../model/domain.ts';
import type { PolicyPlace, View } from '../../model/view.ts';
import { obstacleConditions, warnings } from '../conditions.ts';
import { idlePart } from '../network-policy/idle.ts';
import { remotePart } from '../network-policy/remote-peer.ts';
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
      const field = fieldOf(direction, index, rule);
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
function noticeOf(view: View, key: string, policy: ClusterPolicy, { rival }: PolicyPlace): Problem {
  const idle = remotePart(view, policy) ?? idlePart(view, key, policy) ?? { code: 'PolicyReady', message: '' };
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
    // What is wrong with names stays as it is while nobody asks.
    if (!view.domains.isAsking && domainsOf(policy).length > 0) return [{ object }];
    const problem = problemOf(view, policy, place);
    const { code, message } = noticeOf(view, key, policy, place);
    const obstacle = refusalOf(outcome) ?? domainProblem(view, policy);
    const conditions = obstacleConditions(policy.generation, problem, obstacle, code, message);
    // A policy that has just been created waits for answers, which is no reason for a warning.
    const isPending = problem === undefined && obstacle?.code === pendingNames;
    const events = isPending ? [] : warnings(policy.conditions, conditions);
    return [{ object, status: { conditions, isShared: true, events } }];
  }
  return [];
}
