/**
 * The peers outside of a namespace that rules name, in words, and which rules contain such a peer as a whole. In: rules. Out: peers, and whether one is within
 * another. Rule: a peer is within what contains it by the words of both; a pod that only happens to be in two of them is not known. Pure.
 */
import type { LabelSelector } from '../../../lib/api/kinds/shared.ts';
import { matchesSelector, selectorParts } from '../../../lib/api/label-selector.ts';
import { cidrCovers, parseCidr } from '../../../lib/net/cidr.ts';
import type { BlockPeer, PodPeer, PolicyRule } from '../../../lib/policies/policy.ts';
import { namesClusters, peerId, peerSelector } from '../../../lib/policies/selection.ts';

interface Named {
  /** Equal for peers that select the same. */
  readonly id: string;
  readonly label: string;
}

export type OuterPeer =
  | (Named & { readonly kind: 'pods' | 'nodes'; readonly selector: LabelSelector })
  | (Named & { readonly kind: 'addresses'; readonly block: BlockPeer });

/** What rules name: everything that no peer contains, or a peer. */
export type Place = 'anywhere' | OuterPeer;

/** A rule, as far as it names the other end. */
export interface NamingRule {
  readonly peers: PolicyRule['peers'];
  readonly nodes: readonly LabelSelector[];
}

/** The label that every Namespace has, with its name. */
const nameLabel = 'kubernetes.io/metadata.name';

export function outerPeersOf(namespace: string, { peers, nodes }: NamingRule): readonly OuterPeer[] {
  const { pods = [], blocks = [] } = peers ?? {};
  const isAll = isEverything(blocks);
  return [
    ...pods.flatMap((peer): readonly OuterPeer[] =>
      isOutside(namespace, peer)
        ? [
            {
              kind: 'pods',
              id: `pods ${peerId(namespace, peer)}`,
              label: podWords(namespace, peer),
              selector: peerSelector(namespace, peer),
            },
          ]
        : [],
    ),
    ...nodes.map((selector): OuterPeer => {
      const label = nodeWords(selector);
      return { kind: 'nodes', id: label, label, selector };
    }),
    ...blocks
      .filter((block) => !isAll || !isWholeFamily(block))
      .map((block): OuterPeer => {
        const label = blockWords(block);
        return { kind: 'addresses', id: `addresses ${label}`, label, block };
      }),
  ];
}

/** Whether a rule names a place as a whole. */
export function namesPlace(namespace: string, { peers, nodes }: NamingRule, place: Place): boolean {
  if (peers === undefined || isEverything(peers.blocks)) return true;
  if (place === 'anywhere') return false;
  if (place.kind === 'addresses') return peers.blocks.some((block) => isBlockWithin(place.block, block));
  if (place.kind === 'nodes') return nodes.some((one) => isSelectorWithin(place.selector, one));
  return peers.pods.some((peer) => isSelectorWithin(place.selector, peerSelector(namespace, peer)));
}

function isWholeFamily({ cidr, except }: BlockPeer): boolean {
  return except.length === 0 && parseCidr(cidr)?.prefix === 0;
}

/** Whether blocks contain all addresses of both families. */
function isEverything(blocks: readonly BlockPeer[]): boolean {
  const whole = blocks.filter(isWholeFamily).map(({ cidr }) => parseCidr(cidr)?.family);
  return whole.includes(4) && whole.includes(6);
}

function isBlockWithin(inner: BlockPeer, outer: BlockPeer): boolean {
  const [own, other] = [parseCidr(inner.cidr), parseCidr(outer.cidr)];
  if (own === undefined || other === undefined || !cidrCovers(other, own)) return false;
  return outer.except.every((text) => {
    const hole = parseCidr(text);
    return hole === undefined || inner.except.includes(text) || !(cidrCovers(hole, own) || cidrCovers(own, hole));
  });
}

/** Whether each requirement of the outer selector is one of the inner selector, or follows from a label that it requires. */
function isSelectorWithin(inner: LabelSelector, outer: LabelSelector): boolean {
  const { matchLabels = {} } = inner;
  const known = new Set(selectorParts(inner));
  return requirementsOf(outer).every(({ key, selector }) =>
    matchLabels[key] === undefined
      ? selectorParts(selector).every((part) => known.has(part))
      : matchesSelector(selector, matchLabels),
  );
}

function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector) {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, selector: { matchLabels: { [key]: value } } })),
    ...matchExpressions.map((one) => ({ key: one.key, selector: { matchExpressions: [one] } })),
  ];
}

/** Whether the selector may name pods of another namespace; the labels of these are not read. */
function isOutside(namespace: string, peer: PodPeer): boolean {
  const { namespaces } = peer;
  if (namesClusters(peer)) return true;
  if (namespaces === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = namespaces;
  const isOwnList = matchExpressions.some(
    ({ key, operator, values = [] }) =>
      key === nameLabel && operator === 'In' && values.every((value) => value === namespace),
  );
  return matchLabels[nameLabel] !== namespace && !isOwnList;
}

function podWords(namespace: string, peer: PodPeer): string {
  const { namespaces, pods } = peer;
  if (namesClusters(peer)) {
    const [own, outer] = [pods, namespaces ?? {}].map((one) => selectorParts(one).toSorted());
    const where = namespaces === undefined ? ` in namespace ${namespace}` : '';
    return `pods of other clusters${where}: ${[...new Set([...(own ?? []), ...(outer ?? [])])].join(', ')}`;
  }
  return localWords({ namespaces: namespaces ?? {}, pods });
}

function localWords({
  namespaces,
  pods,
}: {
  readonly namespaces: LabelSelector;
  readonly pods: LabelSelector;
}): string {
  const [own, outer] = [selectorParts(pods).toSorted(), selectorParts(namespaces).toSorted()];
  const ofPods = own.length === 0 ? 'all pods' : `pods ${own.join(', ')}`;
  const name = onlyName(namespaces);
  if (name !== undefined) return `${ofPods} in namespace ${name}`;
  return `${ofPods} in ${outer.length === 0 ? 'all namespaces' : `namespaces ${outer.join(', ')}`}`;
}

/** The name of the one namespace that the selector requires, if it requires nothing else. */
function onlyName({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string | undefined {
  return Object.keys(matchLabels).length + matchExpressions.length === 1 ? matchLabels[nameLabel] : undefined;
}

function nodeWords(selector: LabelSelector): string {
  const parts = selectorParts(selector).toSorted();
  return parts.length === 0 ? 'all nodes' : `nodes ${parts.join(', ')}`;
}

function blockWords({ cidr, except }: BlockPeer): string {
  return except.length === 0 ? cidr : `${cidr} except ${except.toSorted().join(', ')}`;
}
