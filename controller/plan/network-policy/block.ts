/** The networks of an ipBlock. Its exceptions are subtracted, because a match with `!=` makes OVN expand each combination. */
import { cidrCovers, formatCidr, lastOf, parseCidr, type Cidr } from '../../../lib/net/cidr.ts';
import { IntervalSet } from '../../../lib/net/interval-set.ts';
import { cidrsOf } from '../../../lib/net/range.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { BlockPeer } from '../../../lib/policies/policy.ts';

/** Each exception may split a block into as many networks as an address has bits. */
const mostExceptions = 256;
const mostNetworks = 10_000;

/** Without exceptions that lie outside of the block; nothing if a part is not a CIDR, or if there are too many. */
function networksOf({ cidr: text, except }: BlockPeer): readonly Cidr[] {
  if (except.length > mostExceptions) return [];
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

interface Networks {
  readonly byFamily: Readonly<Record<Family, readonly string[]>>;
  readonly isTooMany: boolean;
}

/** A rule is looked at for each family, VPC and port. */
const known = new WeakMap<readonly BlockPeer[], Networks>();

function allNetworks(blocks: readonly BlockPeer[]): Networks {
  let networks = known.get(blocks);
  if (networks === undefined) {
    const all: Cidr[] = [];
    let isTooMany = false;
    for (const block of blocks) {
      if (all.length > mostNetworks) break;
      isTooMany ||= block.except.length > mostExceptions;
      all.push(...networksOf(block));
    }
    if (all.length > mostNetworks) isTooMany = true;
    const of = (family: Family): readonly string[] =>
      all.length > mostNetworks
        ? []
        : [...new Set(all.filter((cidr) => cidr.family === family).map(formatCidr))].sort();
    networks = { byFamily: { 4: of(4), 6: of(6) }, isTooMany };
    known.set(blocks, networks);
  }
  return networks;
}

const noBlocks: readonly BlockPeer[] = [];

/** All networks of one family that the blocks of a rule contain, as texts; none if they are too many. */
export function blockNetworks(blocks: readonly BlockPeer[] = noBlocks, family: Family): readonly string[] {
  return allNetworks(blocks).byFamily[family];
}

/** Whether a block has too many exceptions, or all of them too many networks. */
export function hasTooManyNetworks(blocks: readonly BlockPeer[] = noBlocks): boolean {
  return allNetworks(blocks).isTooMany;
}
