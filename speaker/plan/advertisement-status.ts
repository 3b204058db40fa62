import type { BgpAdvertisement } from '../state/objects.ts';
import type { PlannedCondition, PlannedStatus } from './planned.ts';

/** What an advertisement announces, the same from every speaker. */
export function advertisementSummary(
  { spec }: BgpAdvertisement,
  prefixes: readonly string[],
): PlannedStatus<never, { readonly prefixes: readonly string[] }> {
  return { entry: undefined, leftOver: [], summary: { prefixes }, conditions: [readyCondition(spec, prefixes.length)] };
}

function readyCondition(spec: BgpAdvertisement['spec'], count: number): PlannedCondition {
  if ('problem' in spec)
    return { type: 'Ready', status: 'False', reason: spec.problem.code, message: spec.problem.message };
  if (count > 0)
    return {
      type: 'Ready',
      status: 'True',
      reason: 'Announced',
      message: `${count} prefixes go to the peers that select this`,
    };
  return {
    type: 'Ready',
    status: 'False',
    reason: 'NoMatch',
    message: 'no ready subnet of the default VPC has the labels of selector; label one or change the selector',
  };
}
