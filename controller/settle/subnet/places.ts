import { lastOf } from '../../../lib/net/cidr.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';
import type { Family } from '../../../lib/net/ip.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import { partsOf } from '../../model/net-parts.ts';

export interface Place {
  readonly owner: string;
  readonly cidr: Cidr;
}

/** Networks in use, in order, so that an overlap is found by a binary search. */
export class Places {
  readonly #sorted = new Map<Family, Place[]>();

  #index(list: readonly Place[], network: bigint): number {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((list[middle]?.cidr.network ?? 0n) < network) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  add(owner: string, net: SubnetNet): void {
    for (const { cidr } of partsOf(net)) {
      const list = this.#sorted.get(cidr.family) ?? [];
      list.splice(this.#index(list, cidr.network), 0, { owner, cidr });
      this.#sorted.set(cidr.family, list);
    }
  }

  /** Removes the network that the owner was added with. */
  remove(owner: string, net: SubnetNet): void {
    for (const { cidr } of partsOf(net)) {
      const list = this.#sorted.get(cidr.family) ?? [];
      let at = this.#index(list, cidr.network);
      while (list[at]?.cidr.network === cidr.network && list[at]?.owner !== owner) at += 1;
      if (list[at]?.owner === owner) list.splice(at, 1);
    }
  }

  /** An overlapping network of another owner. */
  overlap(owner: string, net: SubnetNet): Place | undefined {
    for (const { cidr } of partsOf(net)) {
      const list = this.#sorted.get(cidr.family) ?? [];
      const at = this.#index(list, cidr.network);
      // CIDRs nest or are disjoint: an overlapping one begins inside, or is the nearest preceding one of another owner.
      for (let index = at; (list[index]?.cidr.network ?? lastOf(cidr) + 1n) <= lastOf(cidr); index += 1) {
        if (list[index]?.owner !== owner) return list[index];
      }
      for (let index = at - 1; index >= 0; index -= 1) {
        const place = list[index];
        if (place === undefined || place.owner === owner) continue;
        if (lastOf(place.cidr) >= cidr.network) return place;
        break;
      }
    }
    return undefined;
  }
}
