import { wellKnownCommunities } from '../../../lib/api/kinds/bgp-advertisement.ts';
import type { SentAttributes } from '../../../lib/bgp/sent.ts';

const names = new Map<string, string>(Object.entries(wellKnownCommunities).map(([name, value]) => [value, name]));

/** The attributes of a prefix as text; empty if there are none. */
export function attributesText(attributes: SentAttributes | undefined): string {
  if (attributes === undefined) return '';
  const { communities, largeCommunities, localPreference, med, prepend, nextHop } = attributes;
  const all = [...communities.map((each) => names.get(each) ?? each), ...largeCommunities];
  return [
    all.length > 0 ? `communities ${all.join(' ')}` : '',
    localPreference === undefined ? '' : `local preference ${localPreference}`,
    med === undefined ? '' : `MED ${med}`,
    prepend === 0 ? '' : `prepend ${prepend}`,
    nextHop === undefined ? '' : `next hop ${nextHop}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}
