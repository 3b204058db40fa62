/** When waiting for a cluster to join is over. Pure. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import { conditionOf } from '../model/snapshot.ts';

/** A hub that is asked again with the same token gives no other answer. */
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
/** The agent asks a hub that refused it every five seconds; what it says earlier may be of the token before. */
const secondWordMs = 8000;

/** Ready=True, or the Joined=False that will stay; undefined while neither is certain. */
export function joinVerdict(
  conditions: readonly Condition[],
  generation: number | undefined,
  elapsedMs: number,
): Condition | undefined {
  // A status of before the spec was written says nothing of this hub.
  const isCurrent = ({ observedGeneration }: Condition): boolean =>
    observedGeneration === undefined || observedGeneration === generation;
  const [ready, joined] = [conditionOf(conditions, 'Ready'), conditionOf(conditions, 'Joined')];
  if (ready?.status === 'True' && isCurrent(ready)) return ready;
  if (joined?.status !== 'False' || !isCurrent(joined) || !refusals.has(joined.reason ?? '')) return undefined;
  return elapsedMs >= secondWordMs ? joined : undefined;
}
