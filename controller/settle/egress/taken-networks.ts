/** Networks that gateways of a VPC have, for the question which of them a further one overlaps. A question costs little however many there are. */
import { lastOf, type Cidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';

interface Taken {
  readonly cidr: Cidr;
  readonly key: string;
}

export class TakenNetworks {
  /** By address. None overlaps another: of those of one gateway only the widest are here. */
  readonly #taken: Readonly<Record<Family, Taken[]>> = { 4: [], 6: [] };

  /** How many begin at or before an address. */
  #countTo(family: Family, address: bigint): number {
    const all = this.#taken[family];
    let [low, high] = [0, all.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const one = all[middle];
      if (one !== undefined && one.cidr.network <= address) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The gateway that has a part of the network. */
  holderOf(cidr: Cidr): string | undefined {
    // Of networks that do not overlap each other, the last one to begin is the last one to end.
    const last = this.#taken[cidr.family][this.#countTo(cidr.family, lastOf(cidr)) - 1];
    return last !== undefined && lastOf(last.cidr) >= cidr.network ? last.key : undefined;
  }

  /** Networks that no other gateway has. */
  add(key: string, cidrs: readonly Cidr[]): void {
    for (const cidr of cidrs.toSorted((a, b) => a.prefix - b.prefix))
      if (this.holderOf(cidr) === undefined)
        this.#taken[cidr.family].splice(this.#countTo(cidr.family, cidr.network), 0, { cidr, key });
  }
}
