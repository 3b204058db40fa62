/** The report of a pod's addresses once the database has them: annotations, a condition, IP objects and events. */
import { annotation } from '../../../lib/api/names.ts';
import { addressEvents, hasAllPorts, reportIps } from '../address/report.ts';
import { failure } from '../events.ts';
import { refusalOf } from '../report.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import type { View } from '../../model/view.ts';
import { planPodAnnotations, planPodCondition, planProblemNote } from './pod-annotations.ts';
import { portProblems } from './port-problems.ts';

export function reportPod(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const key = `pod/${name}`;
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
  const report: ObjectReport = {
    object,
    annotations: { ...allocated, ...planProblemNote(view, name) },
    status: { conditions: condition === undefined ? [] : [condition], storage: 'metadata' },
    // The event of the noted problem was recorded when the note was written.
    events: events.map((event) => ({ ...event, isKnown: event.message === pod.annotations[annotation.problem] })),
  };
  return [report, ...ips];
}
