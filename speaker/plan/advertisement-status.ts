import type { BgpAdvertisement } from '../state/objects.ts';
import type { PlannedCondition, PlannedStatus } from './planned.ts';

/** What an advertisement announces, the same from every speaker. `leftOut` names what it selects in vain. */
export function advertisementSummary(
  { spec }: BgpAdvertisement,
  prefixes: readonly string[],
  leftOut: readonly string[],
): PlannedStatus<never, { readonly prefixes: readonly string[] }> {
  return {
    entry: undefined,
    leftOver: [],
    summary: { prefixes },
    conditions: [readyCondition(spec, prefixes.length, leftOut)],
  };
}

function readyCondition(spec: BgpAdvertisement['spec'], count: number, leftOut: readonly string[]): PlannedCondition {
  const others =
    leftOut.length === 0 ? '' : `; not announced, because nodes have no route into other VPCs: ${leftOut.join(', ')}`;
  if ('problem' in spec)
    return { type: 'Ready', status: 'False', reason: spec.problem.code, message: spec.problem.message };
  if (count > 0)
    return {
      type: 'Ready',
      status: 'True',
      reason: 'Announced',
      message: `${count} prefixes go to the peers that select this${others}`,
    };
  return {
    type: 'Ready',
    status: 'False',
    reason: 'NoMatch',
    message: `no ready subnet of the default VPC has the labels of selector; label one or change the selector${others}`,
  };
}
