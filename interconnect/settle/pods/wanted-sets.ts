/** The sets of pods of other clusters that policies of this cluster ask for. Pure. */
import { entryOf } from '../../../lib/desired/entry-of.ts';
import { longestSelector, namesCluster, type RemotePeer } from '../../../lib/policies/remote-peers.ts';
import { mostWanted, type WantedSet } from '../../model/pod-sets.ts';

export interface WantedInput {
  /** The peers of each policy. */
  readonly peers: Iterable<readonly RemotePeer[]>;
  readonly ownCluster: string;
  /** Those that are members. */
  readonly clusters: Iterable<string>;
  /** Whether the set is known of any cluster. */
  readonly isKnown: (set: string) => boolean;
}

/**
 * Of too many sets, those that are known come first: what is in force stays when another policy is created.
 */
export function wantedSets({ peers, ownCluster, clusters, isKnown }: WantedInput): readonly WantedSet[] {
  const known = [...clusters];
  const wanted = new Map<string, { readonly selector: string; readonly clusters: Set<string> }>();
  for (const ofPolicy of peers)
    for (const peer of ofPolicy) {
      if (peer.selector.length > longestSelector) continue;
      const set = entryOf(wanted, peer.set, () => ({ selector: peer.selector, clusters: new Set<string>() }));
      for (const name of known) if (name !== ownCluster && namesCluster(peer, name)) set.clusters.add(name);
    }
  return [...wanted]
    .filter(([, set]) => set.clusters.size > 0)
    .map(([id, set]): WantedSet => ({ id, selector: set.selector, clusters: [...set.clusters].sort() }))
    .sort((a, b) => Number(isKnown(b.id)) - Number(isKnown(a.id)) || (a.id < b.id ? -1 : 1))
    .slice(0, mostWanted);
}
