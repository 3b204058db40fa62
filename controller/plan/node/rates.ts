/** Rate limits of a node's own port in the overlay, ovn0: to the node is ingress. */
import { joinSubnet, nodePortName } from '../../../lib/api/names.ts';
import type { Problem } from '../../../lib/desired/problem.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Node } from '../../model/objects.ts';
import { rateRows, readRates } from '../rate-limit.ts';

function ratesOf({ annotations }: Node): ReturnType<typeof readRates> {
  return readRates((key) => ({ name: key, text: annotations[key] ?? '' }));
}

/** Problems of the rate limits in a node's annotations. */
export function nodeRateProblems(node: Node): readonly Problem[] {
  return ratesOf(node).problems;
}

export function nodeRateRows(node: Node): readonly DesiredRow[] {
  return rateRows(ratesOf(node).rates, nodePortName(node.name), joinSubnet);
}
