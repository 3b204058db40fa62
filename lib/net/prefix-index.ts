/** Values with prefixes, found by overlap without a look at all of them. The prefixes may overlap each other. */
import { formatCidr, lastOf, type Cidr } from './cidr.ts';
import { bitsOf } from './ip.ts';

interface WithPrefix {
  readonly cidr: Cidr;
}

export class PrefixIndex<T extends WithPrefix> {
  readonly #byText = new Map<string, Set<T>>();
  /** By first address, of one family each. */
  readonly #sorted: Record<4 | 6, T[]> = { 4: [], 6: [] };
  /** How many prefixes have each length, of one family each. */
  readonly #lengths: Record<4 | 6, Map<number, number>> = { 4: new Map(), 6: new Map() };

  add(held: T): void {
    const { cidr } = held;
    const key = formatCidr(cidr);
    const same = this.#byText.get(key) ?? new Set<T>();
    this.#byText.set(key, same.add(held));
    const list = this.#sorted[cidr.family];
    list.splice(firstFrom(list, cidr.network), 0, held);
    const lengths = this.#lengths[cidr.family];
    lengths.set(cidr.prefix, (lengths.get(cidr.prefix) ?? 0) + 1);
  }

  /** The same object that was added. */
  remove(held: T): void {
    const { cidr } = held;
    const key = formatCidr(cidr);
    const same = this.#byText.get(key);
    if (same?.delete(held) !== true) return;
    if (same.size === 0) this.#byText.delete(key);
    const list = this.#sorted[cidr.family];
    list.splice(list.indexOf(held, firstFrom(list, cidr.network)), 1);
    const lengths = this.#lengths[cidr.family];
    const left = (lengths.get(cidr.prefix) ?? 1) - 1;
    if (left === 0) lengths.delete(cidr.prefix);
    else lengths.set(cidr.prefix, left);
  }

  get isEmpty(): boolean {
    return this.#byText.size === 0;
  }

  /** A value whose prefix has all of these addresses. */
  covering(cidr: Cidr): T | undefined {
    return this.#around(cidr, cidr.prefix).next().value;
  }

  /** Values whose prefixes share addresses with this one. */
  *allOverlapping(cidr: Cidr): Generator<T, undefined> {
    yield* this.#around(cidr, cidr.prefix - 1);
    const list = this.#sorted[cidr.family];
    const last = lastOf(cidr);
    for (let at = firstFrom(list, cidr.network); ; at += 1) {
      const held = list[at];
      if (held === undefined || held.cidr.network > last) return undefined;
      // A wider one that begins at the same address came above.
      if (held.cidr.prefix >= cidr.prefix) yield held;
    }
  }

  /** Prefixes that contain it, whose masks are no longer than `most`. */
  *#around(cidr: Cidr, most: number): Generator<T, undefined> {
    for (const prefix of this.#lengths[cidr.family].keys()) {
      if (prefix > most) continue;
      const hostBits = BigInt(bitsOf(cidr.family) - prefix);
      const outer = { family: cidr.family, network: (cidr.network >> hostBits) << hostBits, prefix };
      yield* this.#byText.get(formatCidr(outer)) ?? [];
    }
    return undefined;
  }
}

/** Index of the first prefix that begins at or after the address. */
function firstFrom(list: readonly WithPrefix[], address: bigint): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.cidr.network ?? address) < address) low = middle + 1;
    else high = middle;
  }
  return low;
}
