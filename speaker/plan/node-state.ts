import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import type { BgpState, NodeInstance, NodeSession } from '../../lib/bgp/objects.ts';
import { textOfValues, valuesName } from '../../lib/bgp/values.ts';
import type { Observed } from '../model/observed.ts';
import { type Learned, learnedRoutesOf, type PeerLearned } from './learned.ts';
import { countAnnounced } from './peer-status.ts';
import type { SpeakerPlan } from './plan.ts';
import { exportHits, statusOfHits } from './policy-hits.ts';

function usedOf(learned: PeerLearned | undefined): Partial<NonNullable<BgpNodeStateStatus['peers']>[number]> {
  if (!learned) return {};
  const refused = [...learned.refused].map(([reason, count]) => ({ reason, count }));
  return {
    used: learned.routes.length,
    ...(refused.length > 0 && { notUsed: refused.toSorted((a, b) => (a.reason < b.reason ? -1 : 1)) }),
    ...(learned.own.length > 0 && { ownPrefixes: [...learned.own] }),
  };
}

/** Maximum number of used routes in the status. */
const sampleLength = 100;

/** The BGP state of this node in one object; undefined if the node has no instance. @param entryOf this node's entry in a BgpPeer */
export function nodeStateOf(
  state: BgpState,
  plan: SpeakerPlan,
  observed: Observed,
  instance: NodeInstance | undefined,
  learned: Learned,
  entryOf: (peer: string) => NodeSession | undefined,
): BgpNodeStateStatus | undefined {
  if (!plan.instance) return undefined;
  const peers = [...plan.peers.values()].map((peer) => {
    const session = observed.sessions.get(peer.address);
    const { node: _, advertised, since: __, ...entry } = entryOf(peer.name) ?? { node: '', state: 'Idle' };
    const announced = countAnnounced(plan, peer);
    const isUp = entry.state === 'Established';
    const { localAddress, holdTimeSeconds, bfd, establishedAt, lastError } = session ?? {};
    return {
      peer: peer.name,
      address: peer.address,
      asn: peer.asn,
      ...entry,
      ...(isUp && establishedAt !== undefined && { since: establishedAt }),
      ...(session && { flaps: session.flaps }),
      ...(lastError !== undefined && { lastError }),
      ...(isUp && localAddress !== undefined && { localAddress }),
      ...(isUp && holdTimeSeconds !== undefined && { holdTimeSeconds }),
      ...(bfd !== undefined && { bfd }),
      families: peer.families.map((family) => ({
        family,
        ...(isUp && advertised !== undefined && { advertised: announced[family] }),
        ...(isUp && session && { received: session.received[family] }),
      })),
      ...usedOf(learned.peers.get(peer.address)),
    };
  });
  const policies = statusOfHits(exportHits(plan), learned.hits);
  const established = peers.filter(({ state }) => state === 'Established').length;
  return {
    instance: plan.instance.name,
    ...(plan.instance.name === valuesName && { values: textOfValues(state) }),
    asn: plan.instance.asn,
    routerID: plan.instance.routerId,
    ...(observed.daemon.version !== undefined && { daemonVersion: observed.daemon.version }),
    ready: instance?.ready ?? false,
    ...(instance?.reason !== undefined && { reason: instance.reason }),
    ...(instance?.message !== undefined && { message: instance.message }),
    drain: plan.drain,
    prefixes: plan.table.routes.size,
    established: `${established}/${peers.length}`,
    ...(plan.interfaces.length > 0 && { interfaces: [...plan.interfaces] }),
    learnedRoutes: learnedRoutesOf(learned).length,
    learned: learnedRoutesOf(learned).slice(0, sampleLength),
    ...(policies.length > 0 && { policies }),
    peers: peers.toSorted((a, b) => (a.address < b.address ? -1 : 1)),
  };
}
