/** Networks, some of which may be within others, and those of them that are within no other: what a set can hold whose elements must not overlap. */
import { formatCidr, parseCidr, type Cidr } from './cidr.ts';
import { PrefixIndex } from './prefix-index.ts';

interface Held {
  readonly cidr: Cidr;
  /** How often it was added. */
  count: number;
}

export class OutermostNetworks {
  readonly #held = new Map<string, Held>();
  readonly #index = new PrefixIndex<Held>();
  readonly #outer = new Set<string>();
  /** Network → whether it was among the outermost when the changes were last taken. */
  readonly #before = new Map<string, boolean>();

  /** The outermost networks. */
  get all(): ReadonlySet<string> {
    return this.#outer;
  }

  /** Texts that are no networks are left out. */
  add(text: string): void {
    const cidr = parseCidr(text);
    if (cidr === undefined) return;
    const key = formatCidr(cidr);
    const known = this.#held.get(key);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const held = { cidr, count: 1 };
    this.#held.set(key, held);
    this.#index.add(held);
    if (this.#isInner(cidr)) return;
    for (const { cidr: inner } of this.#index.allOverlapping(cidr)) this.#set(formatCidr(inner), false);
    this.#set(key, true);
  }

  /** To be called as often as `add`. */
  remove(text: string): void {
    const cidr = parseCidr(text);
    if (cidr === undefined) return;
    const key = formatCidr(cidr);
    const held = this.#held.get(key);
    if (held === undefined || (held.count -= 1) > 0) return;
    this.#held.delete(key);
    this.#index.remove(held);
    if (!this.#outer.has(key)) return;
    this.#set(key, false);
    for (const { cidr: inner } of this.#index.allOverlapping(cidr))
      if (!this.#isInner(inner)) this.#set(formatCidr(inner), true);
  }

  /** How the outermost networks have changed since the last call. */
  takeChanges(): { readonly removed: readonly string[]; readonly added: readonly string[] } {
    const changed = [...this.#before].filter(([key, was]) => was !== this.#outer.has(key));
    this.#before.clear();
    return {
      removed: changed.filter(([, was]) => was).map(([key]) => key),
      added: changed.filter(([, was]) => !was).map(([key]) => key),
    };
  }

  #isInner(cidr: Cidr): boolean {
    return this.#index.covering({ ...cidr, prefix: cidr.prefix - 1 }) !== undefined;
  }

  #set(key: string, isOuter: boolean): void {
    if (this.#outer.has(key) === isOuter) return;
    if (!this.#before.has(key)) this.#before.set(key, !isOuter);
    if (isOuter) this.#outer.add(key);
    else this.#outer.delete(key);
  }
}
