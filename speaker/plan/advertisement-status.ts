import { isFor } from '../../lib/bgp/exports.ts';
import type { AdvertisementSummary, BgpAdvertisement, BgpState } from '../../lib/bgp/objects.ts';
import { isPeerSelecting, objectProblem } from '../../lib/bgp/peers.ts';
import type { RouteTable } from '../../lib/bgp/route-table.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { PlannedCondition, PlannedStatus } from './planned.ts';

/** The summary of what an advertisement announces from all nodes; the same from every speaker. */
export function advertisementSummary(
  state: BgpState,
  holders: ReadonlyMap<string, string>,
  advertisement: BgpAdvertisement,
  table: RouteTable,
): PlannedStatus<never, AdvertisementSummary> {
  const summary = table.summary(advertisement.name);
  const nodes = table.announcers(advertisement.name);
  return {
    entry: undefined,
    leftOver: [],
    summary,
    conditions: [
      readyCondition(advertisement, summary, nodes.size > 0, peersProblem(state, holders, advertisement, nodes)),
    ],
  };
}

/** Whether peers receive the advertisement: undefined if one of its nodes has a peer for it, whether the session is established or not. */
function peersProblem(
  state: BgpState,
  holders: ReadonlyMap<string, string>,
  { labels, spec }: BgpAdvertisement,
  nodes: ReadonlySet<string>,
): Problem | undefined {
  if ('problem' in spec) return undefined;
  const { peers } = spec.value;
  const unknown = (peers ?? []).filter((name) => !state.peers.has(name));
  const usable = [...state.peers.values()].filter((peer) => objectProblem(state, peer) === undefined);
  const named = usable.filter(
    (peer) =>
      'value' in peer.spec &&
      isFor({ name: peer.name, advertisements: peer.spec.value.advertisements }, { labels, peers }),
  );
  const isThere = named.some((peer) =>
    [...nodes].some((node) => isPeerSelecting(peer, state.nodes.get(node), holders.get(node))),
  );
  if (isThere && unknown.length === 0) return undefined;
  if (unknown.length > 0)
    return {
      code: 'UnknownPeer',
      message: `spec.peers names ${unknown.join(', ')}, which does not exist${isThere ? '; the advertisement goes to the others only' : ''}; create the BgpPeer or remove the name from spec.peers`,
    };
  const cause =
    named.length === 0
      ? 'no usable BgpPeer selects this advertisement'
      : `no BgpPeer for this advertisement is on its nodes (${[...nodes].toSorted().slice(0, 4).join(', ')})`;
  return {
    code: 'NoPeer',
    message: `${cause}: see peers and nodeSelector here, advertisements and nodeSelector of the BgpPeers`,
  };
}

const type = 'Ready';

function readyCondition(
  { spec }: BgpAdvertisement,
  { prefixCount, objects, notAnnounced }: AdvertisementSummary,
  isAnywhere: boolean,
  peersProblem: Problem | undefined,
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
  if (prefixCount > 0 && peersProblem !== undefined)
    return {
      type,
      status: 'False',
      reason: peersProblem.code,
      message: `${peersProblem.message}${others}`,
    };
  if (prefixCount > 0) {
    return {
      type,
      status: 'True',
      reason: 'Announced',
      message: `${prefixCount} prefixes of ${objects} objects are announced to the peers that select this advertisement${others}`,
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
