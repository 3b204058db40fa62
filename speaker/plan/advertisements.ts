import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import { defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import type { BgpAdvertisement, SpeakerState, Subnet } from '../state/objects.ts';
import type { AcceptedPeer } from './peers.ts';
import { matchesSelector } from '../../lib/api/label-selector.ts';

/** Prefixes by advertisement, sorted; an advertisement that selects nothing is there with none. */
export function planAdvertisements(state: SpeakerState): ReadonlyMap<string, readonly string[]> {
  const subnets = [...state.subnets.values()].filter(isAnnounceable);
  const advertised = new Map<string, readonly string[]>();
  for (const { name, spec } of state.advertisements.values()) {
    if ('problem' in spec) continue;
    const selected = subnets.filter((subnet) => matchesSelector(spec.value.selector, subnet.labels));
    advertised.set(name, [...new Set(selected.flatMap((subnet) => subnet.prefixes))].toSorted());
  }
  return advertised;
}

/** Subnets that an advertisement's selector names and that are not announced, because they are in another VPC; sorted. */
export function planLeftOut({ subnets }: SpeakerState, { spec }: BgpAdvertisement): readonly string[] {
  if ('problem' in spec || isEmpty(spec.value.selector)) return [];
  return [...subnets.values()]
    .filter(({ vpc, labels }) => vpc !== defaultVpc && matchesSelector(spec.value.selector, labels))
    .map(({ name, vpc }) => `${name} (VPC ${vpc})`)
    .toSorted();
}

/** What takes everything names nothing. */
function isEmpty({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length + matchExpressions.length === 0;
}

/** What one peer is told: the prefixes of its own family from the advertisements it selects, sorted. */
export function prefixesFor(
  peer: AcceptedPeer,
  advertisements: ReadonlyMap<string, BgpAdvertisement>,
  advertised: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const prefixes = [...advertised]
    .filter(([name]) => matchesSelector(peer.advertisements, advertisements.get(name)?.labels ?? {}))
    .flatMap(([, each]) => each);
  // An IPv6 prefix told over an IPv4 session would carry a mapped IPv4 next hop, which no router can use.
  return [...new Set(prefixes)].filter((prefix) => prefix.includes(':') === (peer.family === 6)).toSorted();
}

/** The join subnet is plumbing; addresses of other VPCs may overlap with anything, and the node has no route to them. */
function isAnnounceable(subnet: Subnet): boolean {
  return subnet.name !== joinSubnet && subnet.vpc === defaultVpc;
}
