import type { Problem } from '../../../lib/desired/problem.ts';
import type { Feature } from '../feature.ts';
import type { View } from '../../model/view.ts';

/** Prefixes a node learned that are left out, with why. */
export function learnedProblems(view: View, node: string): readonly Problem[] {
  const prefixes = [...(view.bgpNodeStates.get(node)?.learned.keys() ?? [])];
  return prefixes.flatMap((prefix) => view.learned.get(prefix)?.problem ?? []);
}

/** Keys: the BgpNodeState. There is only something to tell. */
export const bgpNodeFeature: Feature = {
  name: 'bgp-node',
  all: (view) => view.bgpNodeStates.keys(),
  *reads(change, view) {
    if (change.kind === 'bgpNodeStates') yield change.name;
    if (change.kind !== 'learned') return;
    for (const { name, learned } of view.bgpNodeStates.values()) if (learned.has(change.name)) yield name;
  },
};
