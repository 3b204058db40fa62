/**
 * Peers that are pods of other clusters. In: the sets of addresses that the agent received (RemotePodSlices), and the peers of policies. Out: the addresses in the
 * sets of the peer (`peer.ts`), in each VPC in which policies name it. Rule: a peer has the addresses that have arrived, of each cluster those that it sent last.
 */
import type { Problem } from '../../../lib/desired/problem.ts';
import type { Contribution, Desired } from '../../../lib/desired/row.ts';
import { familyOf } from '../../../lib/net/ip.ts';
import { listedClusters, namesCluster, remotePeerOf, type RemotePeer } from '../../../lib/policies/remote-peers.ts';
import { namesClusters, namespaceOf, peerId, policyDirections } from '../../../lib/policies/selection.ts';
import type { RemotePodSet } from '../../../lib/slices/remote-pods.ts';
import type { Change } from '../../model/change.ts';
import type { Policy } from '../../model/objects.ts';
import type { View } from '../../model/view.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { peerSet } from './names.ts';

const families = [4, 6] as const;
/** Clusters that a message names. */
const mostNamed = 3;

function planRemotePeer({ policies, remotePods }: View, peer: string): Desired {
  const remote = remotePeerOf(peer);
  if (remote === undefined) return nothing;
  const sets = [...remotePods].flatMap(([cluster, all]) =>
    namesCluster(remote, cluster) ? (all.get(remote.set) ?? []) : [],
  );
  const contributions = policies.peerVpcs(peer).flatMap((vpc) => {
    const addresses = sets.flatMap((set) => set.addresses.get(vpc) ?? []);
    return families.flatMap((family): readonly Contribution[] => {
      const values = addresses.filter((address) => familyOf(address) === family);
      const key = peerSet(peer, vpc, family);
      return values.length === 0 ? [] : [{ table: 'Address_Set', key, column: 'addresses', values }];
    });
  });
  return { rows: [], contributions };
}

function addressesText(set: RemotePodSet | undefined): string {
  return JSON.stringify([...(set?.addresses ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function stateText(set: RemotePodSet | undefined): string {
  return set === undefined ? '' : `${set.since} ${set.reason}`;
}

/** Peers of policies in force that read a change of addresses, or of what is known of a set. */
export function* remotePeersRead(change: Change, { policies }: View, what: 'addresses' | 'state'): Generator<string> {
  if (change.kind !== 'remotePods' || change.before === change.after) return;
  const { name, before, after } = change;
  const textOf = what === 'addresses' ? addressesText : stateText;
  const isNew = (before === undefined) !== (after === undefined);
  for (const peer of policies.peers()) {
    const remote = remotePeerOf(peer);
    if (remote === undefined || !namesCluster(remote, name)) continue;
    if (isNew || textOf(before?.get(remote.set)) !== textOf(after?.get(remote.set))) yield peer;
  }
}

/** Policies in force whose report reads what is known of the sets of other clusters. */
export function* remotePoliciesRead(change: Change, view: View): Generator<string> {
  for (const peer of remotePeersRead(change, view, 'state')) yield* view.policies.ofPeer(peer);
}

interface Lack {
  readonly code: 'PeersUnknown' | 'PeersRefused' | 'PeersPending' | 'PeersAway';
  readonly text: string;
}

/** What is to be said of a peer's pods in one cluster; undefined if its set is up to date. */
function lackOf({ remotePods }: View, { set }: RemotePeer, cluster: string): Lack | undefined {
  const sets = remotePods.get(cluster);
  if (sets === undefined)
    return { code: 'PeersUnknown', text: `${cluster} is no other cluster that this one is connected with` };
  const known = sets.get(set);
  if (known === undefined)
    return { code: 'PeersPending', text: `${cluster} has not sent the addresses of these pods yet` };
  if (known.reason !== undefined)
    return { code: 'PeersRefused', text: `${cluster} does not send the addresses of these pods (${known.reason})` };
  if (known.since === undefined) return undefined;
  return { code: 'PeersAway', text: `the addresses of ${cluster} are those of ${known.since}, when it was seen last` };
}

const order = ['PeersUnknown', 'PeersRefused', 'PeersPending', 'PeersAway'] as const;

/** What a policy does not know of pods of other clusters, or knows only as it was. */
export function remotePart(view: View, policy: Policy): Problem | undefined {
  for (const direction of policyDirections)
    for (const [index, rule] of (policy[direction] ?? []).entries())
      for (const peer of rule.peers?.pods ?? []) {
        if (!namesClusters(peer)) continue;
        const remote = remotePeerOf(peerId(namespaceOf(policy), peer));
        if (remote === undefined) continue;
        const listed = listedClusters(remote);
        const clusters = listed.length > 0 ? listed : [...view.remotePods.keys()].sort();
        const lacks = clusters.flatMap((one) => (namesCluster(remote, one) ? (lackOf(view, remote, one) ?? []) : []));
        const code = order.find((one) => lacks.some((lack) => lack.code === one));
        if (code === undefined) continue;
        const texts = lacks.slice(0, mostNamed).map(({ text }) => text);
        const rest = lacks.length > mostNamed ? [`and so for ${lacks.length - mostNamed} more clusters`] : [];
        return { code, message: `spec.${direction}[${index}]: ${[...texts, ...rest].join('; ')}` };
      }
  return undefined;
}

/** Keys: the texts of the selectors of peers that name clusters. */
export const remotePeerFeature: Feature = {
  name: 'remote-peer',
  *all({ policies }) {
    for (const peer of policies.peers()) if (remotePeerOf(peer) !== undefined) yield peer;
  },
  *reads(change, view) {
    if (change.kind === 'policyPeers') {
      if (remotePeerOf(change.name) !== undefined) yield change.name;
    } else yield* remotePeersRead(change, view, 'addresses');
  },
  plan: planRemotePeer,
};
