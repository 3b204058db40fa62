import { type Cidr, parseCidr } from '../../lib/net/cidr.ts';

/** IPv4 first, then by address, then the wider one; what is no prefix comes last. */
export function compareCidrs(a: Cidr | undefined, b: Cidr | undefined): number {
  if (a === undefined || b === undefined) return Number(b !== undefined) - Number(a !== undefined);
  if (a.family !== b.family) return a.family - b.family;
  if (a.network !== b.network) return a.network < b.network ? -1 : 1;
  return a.prefix - b.prefix;
}

/** The same values in the order of their prefixes, each of which is read once. */
export function byPrefix<T extends { readonly prefix: string }>(values: readonly T[]): readonly T[] {
  return values
    .map((value) => ({ value, cidr: parseCidr(value.prefix) }))
    .toSorted((a, b) => compareCidrs(a.cidr, b.cidr))
    .map(({ value }) => value);
}
