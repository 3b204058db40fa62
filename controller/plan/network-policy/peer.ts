import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { clusterPolicies, peerSet } from './names.ts';

const families = [4, 6] as const;

/** The sets of one peer in each VPC in which policies name it; pods contribute their addresses. */
function planPeer({ policies }: View, peer: string): Desired {
  const named = policies
    .namedPortsOfPeer(peer)
    .flatMap((key) => policies.numbers(key).map((number) => ({ key, number })));
  const rows = policies.peerVpcs(peer).flatMap((vpc) =>
    [undefined, ...named].flatMap((port) =>
      families.map((family): DesiredRow => ({
        table: 'Address_Set',
        key: peerSet(peer, vpc, family, port),
        columns: { external_ids: { ...vendorIds, type: 'network_policy', vpc } },
        collects: ['addresses'],
      })),
    ),
  );
  return policies.isPeerOfCluster(peer) ? { rows, together: clusterPolicies } : { rows };
}

/** Keys: the texts of the peers' selectors. */
export const peerFeature: Feature = {
  name: 'peer',
  all: (view) => view.policies.peers(),
  *reads(change, view) {
    if (change.kind === 'policyPeers') yield change.name;
    else if (change.kind === 'namedPorts')
      for (const policy of view.policies.ofNamedPort(change.name)) yield* view.policies.peersOfPolicy(policy);
  },
  plan: planPeer,
};
