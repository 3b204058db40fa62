// The attributes of all advertisements of a prefix must fit one BGP message: gobgpd exits if they do not, on every node at once. Older
// advertisements go first, so that a further advertisement of a prefix cannot stop its announcement.
import { type BgpAttributes, wellKnownCommunities } from '../api/kinds/bgp-advertisement.ts';
import type { Problem } from '../desired/problem.ts';
import type { BgpAdvertisement } from './objects.ts';
import { byAge } from './order.ts';

/** Bytes that communities of advertisements may take of 4,096 (RFC 4271 §4); a RoutePolicy's come to 540, all else to 200. */
const mostBytes = 3072;
/** Number of advertisements that always fit. */
const alwaysFit = 5;

/** The advertisements of a prefix that do not fit. @param names without repetition */
export function crowdedOut(
  names: readonly string[],
  advertisements: ReadonlyMap<string, BgpAdvertisement>,
): ReadonlySet<string> {
  if (names.length <= alwaysFit) return none;
  const oldestFirst = names.flatMap((name) => advertisements.get(name) ?? []).toSorted(byAge);
  let taken: ReadonlySet<string> = new Set<string>();
  const out = new Set<string>();
  for (const { name, spec } of oldestFirst) {
    if ('problem' in spec) continue;
    const next = taken.union(communitiesOf(spec.value.attributes));
    if (bytesOf(next) <= mostBytes) taken = next;
    else out.add(name);
  }
  return out;
}

const none: ReadonlySet<string> = new Set();

export function crowdedProblem(advertisement: string, prefix: string): Problem {
  return {
    code: 'TooManyCommunities',
    message: `${prefix} has so many communities of older BgpAdvertisements that those of ${advertisement} do not fit one BGP message; give fewer, or select other objects`,
  };
}

function communitiesOf({ communities }: BgpAttributes): ReadonlySet<string> {
  const named = (communities?.wellKnown ?? []).map((name) => wellKnownCommunities[name]);
  return new Set([...(communities?.standard ?? []), ...named, ...(communities?.large ?? [])]);
}

function bytesOf(communities: ReadonlySet<string>): number {
  return [...communities].reduce((sum, each) => sum + (each.split(':').length === 2 ? 4 : 12), 0);
}
