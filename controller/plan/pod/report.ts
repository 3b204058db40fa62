/** The report of a pod's addresses once the database has them: annotations, a condition, IP objects and events. */
import { annotation } from '../../../lib/api/names.ts';
import { addressEvents, hasAllPorts, reportIps } from '../address/report.ts';
import { failure } from '../events.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import type { View } from '../../model/view.ts';
import { planPodAnnotations, planPodCondition, planProblemNote } from './pod-annotations.ts';
import { reportOutside } from './outside.ts';
import { portProblems } from './port-problems.ts';

/** Refusals of the pod's own rows: an address outside is not needed for the network of the pod. */
function ofPort({ rows, refusals }: Outcome, key: string): Outcome {
  return { rows, refusals: new Map([...refusals].filter(([refused]) => refused === key)) };
}

export function reportPod(view: View, name: string, all: Outcome): readonly ObjectReport[] {
  const key = `pod/${name}`;
  const outcome = ofPort(all, key);
  const object = { kind: 'pods', name } as const;
  const pod = view.pods.get(name);
  const ips = reportIps(view, key, outcome);
  if (pod === undefined) return [{ object }, ...ips];
  const allocated = hasAllPorts(view, key, outcome) ? planPodAnnotations(view, name) : undefined;
  const condition = planPodCondition(view, name, { annotations: allocated, refused: refusalOf(outcome) });
  const events = [
    ...addressEvents(view, key, outcome),
    ...portProblems(view, name).map((problem) => failure('ValidatePodNetworkFailed', problem)),
  ];
  const outside = reportOutside(view, name, all);
  const report: ObjectReport = {
    object,
    annotations: { ...allocated, ...planProblemNote(view, name) },
    status: {
      conditions: [...(condition === undefined ? [] : [condition]), ...outside.conditions],
      storage: 'metadata',
    },
    // The event of the noted problem was recorded when the note was written.
    events: [
      ...events.map((event) => ({ ...event, isKnown: event.message === pod.annotations[annotation.problem] })),
      ...outside.events,
    ],
  };
  return [report, ...ips];
}
