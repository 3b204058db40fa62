/**
 * Peers that are pods of other clusters. In: policies. Out: the sets of addresses that they ask for, and the clusters that each of them names. A set is known by
 * a digest of its selector without the names of clusters, so that equal selectors are one set for all that ask for it. Used by the controller and by the agent. Pure.
 */
import type { LabelSelector } from '../api/kinds/shared.ts';
import { isSelector, matchesSelector } from '../api/label-selector.ts';
import { digestName } from '../ovn/digest-name.ts';
import { selectorOfText, selectorText } from '../store/selector-index.ts';
import type { AnyPolicy } from './policy.ts';
import { clusterKey, peersOf } from './selection.ts';

export interface RemotePeer {
  /** The set of addresses. */
  readonly set: string;
  /** The canonical text of the selector of its pods, of `policyLabels`. */
  readonly selector: string;
  /** Selects clusters by the label `clusterKey`. */
  readonly clusters: LabelSelector;
}

/** How a text of a selector begins an expression about clusters. */
const clusterMark = JSON.stringify(`["${clusterKey}",`).slice(1, -1);

/** A longer selector is not asked for. */
export const longestSelector = 4096;

/** The set of a selector. */
export function setOf(selector: string): string {
  return digestName('pods', selector);
}

/** Undefined for a peer of this cluster. `peer`: as `peerId` names it. */
export function remotePeerOf(peer: string): RemotePeer | undefined {
  // Most peers are of this cluster, and need not be parsed to know it.
  if (!peer.includes(clusterMark)) return undefined;
  const { matchLabels = {}, matchExpressions = [] } = selectorOfText(peer);
  const clusters = matchExpressions.filter(({ key }) => key === clusterKey);
  if (clusters.length === 0) return undefined;
  const rest = matchExpressions.filter(({ key }) => key !== clusterKey);
  const selector = selectorText({ matchLabels, matchExpressions: rest });
  return { set: setOf(selector), selector, clusters: { matchExpressions: clusters } };
}

/** The peers of a policy that are pods of other clusters, each once. */
export function remotePeersOf(policy: AnyPolicy): readonly RemotePeer[] {
  return [...peersOf(policy).keys()].flatMap((peer) => remotePeerOf(peer) ?? []);
}

export function namesCluster({ clusters }: Pick<RemotePeer, 'clusters'>, cluster: string): boolean {
  return matchesSelector(clusters, { [clusterKey]: cluster });
}

/** The clusters that a peer lists by name; none for all clusters, or all but some. */
export function listedClusters({ clusters }: Pick<RemotePeer, 'clusters'>): readonly string[] {
  const lists = (clusters.matchExpressions ?? []).flatMap(({ operator, values = [] }) =>
    operator === 'In' ? [values] : [],
  );
  return [...new Set(lists.flat())].filter((name) => matchesSelector(clusters, { [clusterKey]: name })).sort();
}

/** A selector as another cluster sent it; undefined if it is no text that `selectorText` writes, or not the one of the set. */
export function readRemoteSelector(set: string, text: string): LabelSelector | undefined {
  if (text.length > longestSelector || setOf(text) !== set) return undefined;
  try {
    const selector = selectorOfText(text);
    return isSelector(selector) && selectorText(selector) === text ? selector : undefined;
  } catch {
    // Not of the form that is parsed here: nothing else is of interest to the caller.
    return undefined;
  }
}
