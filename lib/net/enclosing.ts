import { bitsOf, type Family } from './ip.ts';
import type { Cidr } from './cidr.ts';

/** Networks, at most so many of each family, that hold all addresses of these: as narrow as one common limit of length allows. */
export function enclosingNetworks(cidrs: readonly Cidr[], most: number): readonly Cidr[] {
  return ([4, 6] as const).flatMap((family) => {
    const ours = cidrs.filter((cidr) => cidr.family === family);
    return ours.length === 0 ? [] : narrowest(ours, family, most);
  });
}

/** The shorter the limit, the fewer networks: the longest that leaves few enough is found by halves. */
function narrowest(cidrs: readonly Cidr[], family: Family, most: number): readonly Cidr[] {
  let [low, high] = [0, bitsOf(family)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (widened(cidrs, middle).length <= most) low = middle;
    else high = middle - 1;
  }
  return widened(cidrs, low);
}

function widened(cidrs: readonly Cidr[], longest: number): readonly Cidr[] {
  const found = new Map<string, Cidr>();
  for (const { family, network, prefix } of cidrs) {
    const length = Math.min(prefix, longest);
    const hostBits = BigInt(bitsOf(family) - length);
    const wide = { family, network: (network >> hostBits) << hostBits, prefix: length };
    found.set(`${wide.network}/${length}`, wide);
  }
  return [...found.values()];
}
