import { bitsOf, formatIp, parseIp } from './ip.ts';
import type { Family, Ip } from './ip.ts';

/** A network: `network` has no host bits set. */
export interface Cidr {
  readonly family: Family;
  readonly network: bigint;
  readonly prefix: number;
}

/** `address/prefix`; host bits are cleared. Undefined if the text is not exactly that. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  if (slash < 0) return undefined;
  const ip = parseIp(text.slice(0, slash));
  const prefixText = text.slice(slash + 1);
  if (ip === undefined || !/^(0|[1-9]\d{0,2})$/.test(prefixText)) return undefined;
  const prefix = Number(prefixText);
  if (prefix > bitsOf(ip.family)) return undefined;
  const hostBits = BigInt(bitsOf(ip.family) - prefix);
  return { family: ip.family, network: (ip.value >> hostBits) << hostBits, prefix };
}

/** Whether `parseCidr` had to clear bits of the address. False if the text is not a CIDR. */
export function hasHostBits(text: string): boolean {
  const cidr = parseCidr(text);
  return cidr !== undefined && parseIp(text.slice(0, text.indexOf('/')))?.value !== cidr.network;
}

export function formatCidr(cidr: Cidr): string {
  return `${formatIp({ family: cidr.family, value: cidr.network })}/${cidr.prefix}`;
}

/** How many addresses it spans, network and broadcast among them. */
export function cidrSize(cidr: Cidr): bigint {
  return 1n << BigInt(bitsOf(cidr.family) - cidr.prefix);
}

/** The highest address; the broadcast address of an IPv4 network. */
export function lastOf(cidr: Cidr): bigint {
  return cidr.network + cidrSize(cidr) - 1n;
}

export function cidrContains(cidr: Cidr, ip: Ip): boolean {
  return ip.family === cidr.family && ip.value >= cidr.network && ip.value <= lastOf(cidr);
}

/** Whether every address of `inner` is in `outer`. */
export function cidrCovers(outer: Cidr, inner: Cidr): boolean {
  return outer.prefix <= inner.prefix && cidrsOverlap(outer, inner);
}

export function cidrsOverlap(a: Cidr, b: Cidr): boolean {
  return a.family === b.family && a.network <= lastOf(b) && b.network <= lastOf(a);
}

/** IPv4 first, then by address, then the wider prefix first; invalid prefixes come last. */
export function compareCidrs(a: Cidr | undefined, b: Cidr | undefined): number {
  if (a === undefined || b === undefined) return Number(b !== undefined) - Number(a !== undefined);
  if (a.family !== b.family) return a.family - b.family;
  if (a.network !== b.network) return a.network < b.network ? -1 : 1;
  return a.prefix - b.prefix;
}

/** The same values in the order of their prefixes, each of which is read once. */
export function byPrefix<T>(values: readonly T[], prefixOf: (value: T) => string): T[] {
  return values
    .map((value) => ({ value, cidr: parseCidr(prefixOf(value)) }))
    .sort((a, b) => compareCidrs(a.cidr, b.cidr))
    .map(({ value }) => value);
}
