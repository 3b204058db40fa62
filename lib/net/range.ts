import { bitsOf, formatIp, parseIp } from './ip.ts';
import type { Cidr } from './cidr.ts';
import type { Family } from './ip.ts';

/** Addresses from `first` to `last`, both included. */
export interface Range {
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
}

/** `address` or `lowest..highest`; undefined if malformed, of two families, or the wrong way round. */
export function parseRange(text: string): Range | undefined {
  const ends = text.split('..');
  if (ends.length > 2) return undefined;
  const first = parseIp(ends[0] ?? '');
  const last = ends.length === 2 ? parseIp(ends[1] ?? '') : first;
  if (first === undefined || last === undefined) return undefined;
  if (first.family !== last.family || first.value > last.value) return undefined;
  return { family: first.family, first: first.value, last: last.value };
}

/** `address` or `lowest..highest`. */
export function formatRange(range: Range): string {
  const first = formatIp({ family: range.family, value: range.first });
  return range.first === range.last ? first : `${first}..${formatIp({ family: range.family, value: range.last })}`;
}

/** The fewest networks that together are the range, in order. */
export function cidrsOf({ family, first, last }: Range): readonly Cidr[] {
  const cidrs: Cidr[] = [];
  for (let from = first; from <= last;) {
    let hostBits = 0n;
    while (
      hostBits < BigInt(bitsOf(family)) &&
      from % (1n << (hostBits + 1n)) === 0n &&
      from + (1n << (hostBits + 1n)) - 1n <= last
    )
      hostBits += 1n;
    cidrs.push({ family, network: from, prefix: bitsOf(family) - Number(hostBits) });
    from += 1n << hostBits;
  }
  return cidrs;
}
