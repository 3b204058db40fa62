import type { AdvertisementSummary, BgpAdvertisement } from '../../lib/bgp/objects.ts';
import type { RouteTable } from '../../lib/bgp/route-table.ts';
import type { PlannedCondition, PlannedStatus } from './planned.ts';

/** What an advertisement announces from all nodes together, the same from every speaker. */
export function advertisementSummary(
  advertisement: BgpAdvertisement,
  table: RouteTable,
): PlannedStatus<never, AdvertisementSummary> {
  const summary = table.summary(advertisement.name);
  const isAnywhere = table.announcers(advertisement.name).size > 0;
  return {
    entry: undefined,
    leftOver: [],
    summary,
    conditions: [readyCondition(advertisement, summary, isAnywhere)],
  };
}

const type = 'Ready';

function readyCondition(
  { spec }: BgpAdvertisement,
  { prefixCount, objects, notAnnounced }: AdvertisementSummary,
  isAnywhere: boolean,
): PlannedCondition {
  if ('problem' in spec) return { type, status: 'False', reason: spec.problem.code, message: spec.problem.message };
  const [refused] = notAnnounced;
  const others = refused === undefined ? '' : `; not announced: ${refused.object}: ${refused.message}`;
  if (!isAnywhere) {
    return {
      type,
      status: 'False',
      reason: 'NoNode',
      message: 'no node of a BgpInstance has the labels of nodeSelector; label one or change the selector',
    };
  }
  if (prefixCount > 0) {
    return {
      type,
      status: 'True',
      reason: 'Announced',
      message: `${prefixCount} prefixes of ${objects} objects go to the peers that select this${others}`,
    };
  }
  return {
    type,
    status: 'False',
    reason: refused?.reason ?? 'NoMatch',
    message:
      refused === undefined
        ? `nothing of source ${spec.value.source} has the labels of selector; label an object or change the selector`
        : `nothing is announced; ${refused.object}: ${refused.message}`,
  };
}
