import { addressEvents, hasAllPorts, reportIps } from '../address/report.ts';
import { failure } from '../events.ts';
import type { ObjectReport, Outcome } from '../report.ts';
import type { View } from '../../model/view.ts';
import { planNodeAnnotations } from './node-annotations.ts';
import { nodeProblems } from './problems.ts';

/** The report of a node's join address once the database has it: annotations, the IP object and events. */
export function reportNode(view: View, name: string, outcome: Outcome): readonly ObjectReport[] {
  const key = `node/${name}`;
  const object = { kind: 'nodes', name } as const;
  if (!view.nodes.has(name)) return [{ object }, ...reportIps(view, key, outcome)];
  const events = [
    ...addressEvents(view, key, outcome),
    ...nodeProblems(view, name).map((problem) => failure('ValidateNodeNetworkFailed', problem)),
  ];
  const annotations = planNodeAnnotations(view, name);
  if (annotations === undefined || !hasAllPorts(view, key, outcome)) return [{ object, events }];
  return [{ object, annotations, events }, ...reportIps(view, key, outcome)];
}
