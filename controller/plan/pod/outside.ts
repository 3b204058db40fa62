/** What a pod shows of the addresses outside that its annotations request: a condition for each, and events. */
import { annotation } from '../../../lib/api/names.ts';
import { outsideConditions } from '../../../lib/api/pod-addresses.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import { eipRef } from '../../model/external-objects.ts';
import { outsideText, podRuleKeys, podRuleStores, ruleObject, waitingMessage } from '../../model/external-rules.ts';
import type { PodRuleStore } from '../../model/external-rules.ts';
import type { Pod } from '../../model/objects.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { View } from '../../model/view.ts';
import { ruleKey } from '../../settle/external/external-rules.ts';
import { failure } from '../events.ts';
import { pendingOf } from '../external/report.ts';
import { isInForce } from '../external/rule-rows.ts';
import type { Outcome, WantedCondition, WantedEvent } from '../report.ts';

/** The first part of the keys of the rows, which name the refusals of the database. */
const features = { podFips: 'pod-fip', podSnats: 'pod-snat' } as const;

interface Shown {
  readonly condition: WantedCondition;
  /** What becomes an event. */
  readonly problem?: Problem;
}

function refused(type: string, problem: Problem): Shown {
  const { code: reason, message } = problem;
  return { condition: { type, status: 'False', reason, message }, problem };
}

/** The annotation was removed, or the pod has ended. */
function withdrawn(pod: Pod, store: PodRuleStore): Shown | undefined {
  const key = podRuleKeys[store];
  if (pod.outsideConditions[key] === undefined) return undefined;
  const [reason, message] = pod.isFinished
    ? ['PodFinished', 'the pod has ended: its address outside is free']
    : ['NotRequested', `the pod has no annotation ${annotation[key]}`];
  return { condition: { type: outsideConditions[key], status: 'False', reason, message } };
}

function shownOf(view: View, name: string, pod: Pod, store: PodRuleStore, outcome: Outcome): Shown | undefined {
  if (outsideText(pod, store) === undefined) return withdrawn(pod, store);
  const type = outsideConditions[podRuleKeys[store]];
  const rule = view.externalRules.get(ruleKey(store, name));
  if (rule === undefined) return undefined;
  if (rule.refusal !== undefined) return refused(type, rule.refusal);
  const facts = ruleObject(view, store, name)?.rule;
  const refusal = outcome.refusals.get(`${features[store]}/${name}`);
  const held = isInForce(rule) && facts !== undefined ? pendingOf(view, rule, facts) : undefined;
  const waits = refusal ?? rule.obstacle;
  const problem = waits ?? held;
  const address = eipRef(rule.eip).name;
  if (problem === undefined) return { condition: { type, status: 'True', reason: 'Served', message: address } };
  // Only one that the pod has is its own after a restart.
  if (view.allocation(eipPort(rule.eip)) === undefined) return refused(type, problem);
  const message = waitingMessage(address, problem.message);
  const condition = { type, status: 'False', reason: problem.code, message } as const;
  // A new port has no holder for a moment, which is no event.
  return { condition, ...(waits && { problem: waits }) };
}

/** The conditions, and an event about each problem that they do not show yet. */
export function reportOutside(
  view: View,
  name: string,
  outcome: Outcome,
): { readonly conditions: readonly WantedCondition[]; readonly events: readonly WantedEvent[] } {
  const pod = view.pods.get(name);
  if (pod === undefined) return { conditions: [], events: [] };
  const shown = podRuleStores.flatMap((store) => {
    const one = shownOf(view, name, pod, store, outcome);
    return one === undefined ? [] : [{ ...one, before: pod.outsideConditions[podRuleKeys[store]] }];
  });
  return {
    conditions: shown.map(({ condition }) => condition),
    events: shown.flatMap(({ condition, problem, before }) =>
      problem === undefined
        ? []
        : [{ ...failure('ExternalAddressFailed', problem), isKnown: before?.message === condition.message }],
    ),
  };
}
