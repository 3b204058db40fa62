/** The peers outside of a namespace that a rule names, in words. Pure. */
import type { LabelSelector } from '../../../lib/api/kinds/shared.ts';
import { selectorParts } from '../../../lib/api/label-selector.ts';
import type { BlockPeer, PodPeer, PolicyRule } from '../../../lib/policies/policy.ts';
import { peerId } from '../../../lib/policies/selection.ts';

export interface OuterPeer {
  readonly kind: 'pods' | 'addresses';
  /** Equal for peers that select the same. */
  readonly id: string;
  readonly label: string;
}

/** The label that every Namespace has, with its name. */
const nameLabel = 'kubernetes.io/metadata.name';

export function outerPeersOf(namespace: string, { peers }: PolicyRule): readonly OuterPeer[] {
  const { pods = [], blocks = [] } = peers ?? {};
  return [
    ...pods.flatMap((peer): readonly OuterPeer[] =>
      isOutside(namespace, peer)
        ? [{ kind: 'pods', id: `pods ${peerId(namespace, peer)}`, label: podWords(peer) }]
        : [],
    ),
    ...blocks.map((block): OuterPeer => {
      const label = blockWords(block);
      return { kind: 'addresses', id: `addresses ${label}`, label };
    }),
  ];
}

/** Whether the selector may name pods of another namespace; the labels of these are not read. */
function isOutside(namespace: string, { namespaces }: PodPeer): boolean {
  if (namespaces === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = namespaces;
  const isOwnList = matchExpressions.some(
    ({ key, operator, values = [] }) =>
      key === nameLabel && operator === 'In' && values.every((value) => value === namespace),
  );
  return matchLabels[nameLabel] !== namespace && !isOwnList;
}

function podWords({ namespaces = {}, pods }: PodPeer): string {
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

function blockWords({ cidr, except }: BlockPeer): string {
  return except.length === 0 ? cidr : `${cidr} except ${except.toSorted().join(', ')}`;
}
