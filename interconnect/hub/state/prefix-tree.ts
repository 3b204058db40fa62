/** Prefixes by holder: an overlapping prefix is found in as many steps as a prefix has bits. */
import type { HeldPrefix } from '../model/holdings.ts';
import { bitsOf, type Family } from '../../../lib/net/ip.ts';
import type { Cidr } from '../../../lib/net/cidr.ts';

interface Node {
  zero: Node | undefined;
  one: Node | undefined;
  /** Once for each time the holder added it. */
  holders: string[];
}

export class PrefixTree {
  readonly #roots: Readonly<Record<Family, Node>> = { 4: emptyNode(), 6: emptyNode() };

  add(cidr: Cidr, holder: string): void {
    let node = this.#roots[cidr.family];
    for (const bit of bitsIn(cidr)) {
      const next = (bit ? node.one : node.zero) ?? emptyNode();
      if (bit) node.one = next;
      else node.zero = next;
      node = next;
    }
    node.holders.push(holder);
  }

  /** Has no effect if it was not added. */
  remove(cidr: Cidr, holder: string): void {
    const way: { readonly node: Node; readonly bit: boolean }[] = [];
    let node: Node | undefined = this.#roots[cidr.family];
    for (const bit of bitsIn(cidr)) {
      way.push({ node, bit });
      node = bit ? node.one : node.zero;
      if (node === undefined) return;
    }
    const at = node.holders.indexOf(holder);
    if (at >= 0) node.holders.splice(at, 1);
    for (let last = way.pop(); last !== undefined && isEmpty(node); last = way.pop()) {
      if (last.bit) last.node.one = undefined;
      else last.node.zero = undefined;
      node = last.node;
    }
  }

  /** A held prefix that contains `cidr` or lies in it, of a holder that `counts`; the widest that contains it first. */
  overlapping(cidr: Cidr, counts: (holder: string) => boolean): HeldPrefix | undefined {
    const { held, node } = this.#walk(cidr, counts);
    return held ?? (node === undefined ? undefined : within(node, cidr, counts));
  }

  /** The widest held prefix that contains `cidr` or is it, of a holder that `counts`. */
  covering(cidr: Cidr, counts: (holder: string) => boolean): HeldPrefix | undefined {
    const { held, node } = this.#walk(cidr, counts);
    const holder = held === undefined ? node?.holders.find(counts) : undefined;
    return holder === undefined ? held : { cidr, holder };
  }

  /** The first that is met above `cidr`; else where `cidr` is in the tree, if it reaches so far. */
  #walk(
    cidr: Cidr,
    counts: (holder: string) => boolean,
  ): { readonly held?: HeldPrefix; readonly node?: Node | undefined } {
    let node: Node | undefined = this.#roots[cidr.family];
    let prefix = 0;
    for (const bit of bitsIn(cidr)) {
      const holder: string | undefined = node.holders.find(counts);
      if (holder !== undefined) return { held: { cidr: shortened(cidr, prefix), holder } };
      node = bit ? node.one : node.zero;
      if (node === undefined) return {};
      prefix += 1;
    }
    return { node };
  }
}

function within(node: Node, cidr: Cidr, counts: (holder: string) => boolean): HeldPrefix | undefined {
  const holder = node.holders.find(counts);
  if (holder !== undefined) return { cidr, holder };
  const prefix = cidr.prefix + 1;
  const zero = node.zero === undefined ? undefined : within(node.zero, { ...cidr, prefix }, counts);
  if (zero !== undefined || node.one === undefined) return zero;
  const half = 1n << BigInt(bitsOf(cidr.family) - prefix);
  return within(node.one, { ...cidr, network: cidr.network + half, prefix }, counts);
}

function* bitsIn({ family, network, prefix }: Cidr): Generator<boolean> {
  const bits = bitsOf(family);
  for (let at = 1; at <= prefix; at += 1) yield ((network >> BigInt(bits - at)) & 1n) === 1n;
}

function shortened({ family, network }: Cidr, prefix: number): Cidr {
  const hostBits = BigInt(bitsOf(family) - prefix);
  return { family, network: (network >> hostBits) << hostBits, prefix };
}

function emptyNode(): Node {
  return { zero: undefined, one: undefined, holders: [] };
}

function isEmpty({ zero, one, holders }: Node): boolean {
  return zero === undefined && one === undefined && holders.length === 0;
}
