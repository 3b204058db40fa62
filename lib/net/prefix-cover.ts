import type { Cidr } from './cidr.ts';
import { bitsOf } from './ip.ts';

/** Networks with their owners, to find the network of a prefix: one lookup for each existing prefix length. */
export class PrefixCover {
  readonly #byFamily = { 4: new Map<number, Map<bigint, string>>(), 6: new Map<number, Map<bigint, string>>() };

  /** Of the same network added twice the first stays. */
  add({ family, network, prefix }: Cidr, what: string): void {
    const lengths = this.#byFamily[family];
    const networks = lengths.get(prefix) ?? new Map<bigint, string>();
    lengths.set(prefix, networks);
    if (!networks.has(network)) networks.set(network, what);
  }

  /** The owner of all addresses of the prefix; undefined if there is none. */
  coverOf({ family, network, prefix }: Cidr): string | undefined {
    for (const [length, networks] of this.#byFamily[family]) {
      const hostBits = BigInt(bitsOf(family) - length);
      const found = length > prefix ? undefined : networks.get((network >> hostBits) << hostBits);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
