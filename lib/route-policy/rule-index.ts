/**
 * The rules of one policy by the prefixes they match. A prefix is looked up once per mask length that occurs in the
 * policy, instead of being compared with every range of every rule. Pure.
 */
import type { Cidr } from '../net/cidr.ts';
import { bitsOf, type Family } from '../net/ip.ts';

/** Prefixes within `cidr` whose mask is from `ge` to `le`, both included. */
export interface PrefixRange {
  readonly cidr: Cidr;
  readonly ge: number;
  readonly le: number;
}

interface Entry {
  readonly rule: number;
  readonly ge: number;
  readonly le: number;
}

/** Ranges whose CIDR has one mask length, by the bits of its network. */
interface MaskTable {
  readonly mask: number;
  readonly entries: Map<bigint, Entry[]>;
}

export class RuleIndex {
  /** Rules that match any prefix, in order. */
  readonly #open: readonly number[];
  readonly #tables: Readonly<Record<Family, readonly MaskTable[]>>;

  /** `ranges[i]` are those of rule i; undefined if it matches any prefix. */
  constructor(ranges: readonly (readonly PrefixRange[] | undefined)[]) {
    this.#open = ranges.flatMap((list, rule) => (list === undefined ? [rule] : []));
    this.#tables = { 4: tablesOf(4, ranges), 6: tablesOf(6, ranges) };
  }

  /** Rules whose ranges take the prefix, in order. */
  rulesFor(cidr: Cidr): readonly number[] {
    const found: number[] = [];
    const bits = bitsOf(cidr.family);
    for (const { mask, entries } of this.#tables[cidr.family]) {
      if (mask > cidr.prefix) break;
      for (const { rule, ge, le } of entries.get(cidr.network >> BigInt(bits - mask)) ?? [])
        if (ge <= cidr.prefix && cidr.prefix <= le) found.push(rule);
    }
    if (found.length === 0) return this.#open;
    return [...new Set([...found, ...this.#open])].sort((a, b) => a - b);
  }
}

/** Shortest mask first. */
function tablesOf(family: Family, ranges: readonly (readonly PrefixRange[] | undefined)[]): readonly MaskTable[] {
  const tables = new Map<number, MaskTable>();
  for (const [rule, list] of ranges.entries()) {
    for (const { cidr, ge, le } of list ?? []) {
      if (cidr.family !== family) continue;
      const table = tables.get(cidr.prefix) ?? { mask: cidr.prefix, entries: new Map<bigint, Entry[]>() };
      tables.set(cidr.prefix, table);
      const key = cidr.network >> BigInt(bitsOf(family) - cidr.prefix);
      const entries = table.entries.get(key);
      if (entries === undefined) table.entries.set(key, [{ rule, ge, le }]);
      else entries.push({ rule, ge, le });
    }
  }
  return [...tables.values()].sort((a, b) => a.mask - b.mask);
}
