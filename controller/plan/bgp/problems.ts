import type { Problem } from '../../../lib/desired/problem.ts';
import type { Feature } from '../feature.ts';
import type { View } from '../../model/view.ts';
import type { ObjectReport } from '../report.ts';

/** Prefixes that a node learned and that are no routes, with the reason. */
export function learnedProblems(view: View, node: string): readonly Problem[] {
  const prefixes = [...(view.bgpNodeStates.get(node)?.learned.keys() ?? [])];
  return prefixes.flatMap((prefix) => view.learned.get(prefix)?.problem ?? []);
}

/** Events only: the status of a BgpNodeState is the speaker's. */
function reportNodeState(view: View, name: string): readonly ObjectReport[] {
  const events = learnedProblems(view, name).map(
    ({ code, message }) => ({ type: 'Warning', reason: code, message }) as const,
  );
  return [{ object: { kind: 'bgpNodeStates', name }, events }];
}

/** Keys: the BgpNodeState. It has no rows. */
export const bgpNodeFeature: Feature = {
  name: 'bgp-node',
  all: (view) => view.bgpNodeStates.keys(),
  *reads(change, view) {
    if (change.kind === 'bgpNodeStates') yield change.name;
    if (change.kind !== 'learned') return;
    for (const { name, learned } of view.bgpNodeStates.values()) if (learned.has(change.name)) yield name;
  },
  report: reportNodeState,
};
