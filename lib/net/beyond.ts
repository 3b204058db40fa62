import { lastOf, type Cidr } from './cidr.ts';
import { IntervalSet } from './interval-set.ts';
import { bitsOf, type Family } from './ip.ts';
import { cidrsOf } from './range.ts';

/**
 * All addresses of a family outside of some networks, as networks in order. A match with `!=` would make OVN expand each combination of a bit of
 * one network with a bit of each other one; an address set of these networks costs one flow each.
 */
export function networksBeyond(networks: readonly Cidr[], family: Family): readonly Cidr[] {
  const rest = IntervalSet.of(0n, (1n << BigInt(bitsOf(family))) - 1n);
  for (const cidr of networks) if (cidr.family === family) rest.remove(cidr.network, lastOf(cidr));
  return rest.intervals().flatMap(({ first, last }) => {
    const cidrs = cidrsOf({ family, first, last });
    // OVN takes an address with a mask of no bits for a mistake.
    return cidrs.flatMap((cidr) => (cidr.prefix > 0 ? [cidr] : halvesOf(family)));
  });
}

function halvesOf(family: Family): readonly Cidr[] {
  return [0n, 1n << BigInt(bitsOf(family) - 1)].map((network) => ({ family, network, prefix: 1 }));
}
