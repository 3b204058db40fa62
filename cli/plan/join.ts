/** Decides when to stop waiting for a cluster to join. Pure. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { conditionOf } from '../model/snapshot.ts';

/** Refusals that the hub repeats for the same token. */
const refusals: ReadonlySet<string> = new Set([
  'ClusterNameTaken',
  'FormerNameListed',
  'HubNotTrusted',
  'TokenExpired',
  'TokenForeign',
  'TokenForOtherCluster',
  'TokenMalformed',
  'TokenRedeemed',
  'TokenSpent',
]);
/** The agent retries a refusing hub every five seconds; an earlier status may be about the former token. */
const secondWordMs = 8000;

/** Returns Ready=True, or a Joined=False that is final; undefined while neither is certain. */
export function joinVerdict(
  conditions: readonly Condition[],
  generation: number | undefined,
  elapsedMs: number,
): Condition | undefined {
  // A status from before the spec was written says nothing about this hub.
  const isCurrent = ({ observedGeneration }: Condition): boolean =>
    observedGeneration === undefined || observedGeneration === generation;
  const [ready, joined] = [conditionOf(conditions, 'Ready'), conditionOf(conditions, 'Joined')];
  if (ready?.status === 'True' && isCurrent(ready)) return ready;
  if (joined?.status !== 'False' || !isCurrent(joined) || !refusals.has(joined.reason ?? '')) return undefined;
  return elapsedMs >= secondWordMs ? joined : undefined;
}
