/** Rate limits of an interface of a pod. */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { DesiredRow } from '../../../lib/desired/row.ts';
import { annotationOf, annotationValue } from '../../model/interfaces.ts';
import type { Interface } from '../../model/interfaces.ts';
import type { Pod } from '../../model/objects.ts';
import type { HeldPort } from '../../model/view.ts';
import { rateRows, readRates } from '../rate-limit.ts';

function ratesOf(pod: Pod, network: Interface): ReturnType<typeof readRates> {
  return readRates((key) => ({ name: annotationOf(network, key), text: annotationValue(pod, network, key) }));
}

/** Problems of the rate limits that an interface requests. */
export function rateProblems(pod: Pod, network: Interface): readonly Problem[] {
  return ratesOf(pod, network).problems;
}

/** Rules of the port's switch that police the port. */
export function portRateRows(pod: Pod, { port, interface: network, allocation }: HeldPort): readonly DesiredRow[] {
  return rateRows(ratesOf(pod, network).rates, port, allocation.subnet);
}
