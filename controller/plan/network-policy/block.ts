/** The networks of an ipBlock. Its exceptions are subtracted, because a match with `!=` makes OVN expand each combination. */
import { cidrCovers, formatCidr, lastOf, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { IntervalSet } from '../../../lib/net/interval-set.ts';
import { cidrsOf } from '../../../lib/net/range.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { BlockPeer } from '../../../lib/policies/policy.ts';

/** Without exceptions that lie outside of the block; nothing if a part is not a CIDR. */
function networksOf({ cidr: text, except }: BlockPeer): readonly Cidr[] {
  const cidr = parseCidr(text);
  const holes = except.map(parseCidr);
  if (cidr === undefined || holes.includes(undefined)) return [];
  const rest = IntervalSet.of(cidr.network, lastOf(cidr));
  for (const hole of holes) {
    if (hole === undefined || hole.family !== cidr.family) continue;
    if (cidrCovers(hole, cidr)) return [];
    if (cidrCovers(cidr, hole)) rest.remove(hole.network, lastOf(hole));
  }
  return rest.intervals().flatMap(({ first, last }) => cidrsOf({ family: cidr.family, first, last }));
}

/** All networks of one family that the blocks contain, as texts. */
export function blockNetworks(blocks: readonly BlockPeer[], family: Family): readonly string[] {
  const networks = blocks.flatMap(networksOf).filter((cidr) => cidr.family === family);
  return [...new Set(networks.map(formatCidr))].sort();
}
