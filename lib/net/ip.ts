/**
 * Address arithmetic for every room. In: text of a user or a peer. Out: values with a family and an integer, and
 * canonical text. Pure and strict: text that is not exactly an address yields `undefined`, never a guess; no leading
 * zeros, no zone ids, no prefix lengths.
 */

export type Family = 4 | 6;

/** An address as an integer of 32 or 128 bits. */
export interface Ip {
  readonly family: Family;
  readonly value: bigint;
}

/** Whether the address is link-local: hosts on different links may share it, so it is meaningless without its link. */
export function isLinkLocal({ family, value }: Ip): boolean {
  return family === 6 && value >> 118n === 0xfe80n >> 6n;
}

/** Of the text of an address or prefix. Does not check the text. */
export function familyOf(text: string): Family {
  return text.includes(':') ? 6 : 4;
}

export function bitsOf(family: Family): number {
  return family === 4 ? 32 : 128;
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let value = 0;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part)) return undefined;
    const octet = Number(part);
    if (octet > 255) return undefined;
    value = value * 256 + octet;
  }
  return BigInt(value);
}

/** Groups of one side of `::`, with an embedded IPv4 tail as two; undefined if a group is malformed. */
function parseGroups(side: string, isTail: boolean): number[] | undefined {
  if (side === '') return [];
  const groups: number[] = [];
  const parts = side.split(':');
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const tail = isTail && index === parts.length - 1 ? parseV4(part) : undefined;
    if (tail === undefined) return undefined;
    groups.push(Number(tail >> 16n), Number(tail & 0xffffn));
  }
  return groups;
}

function parseV6(text: string): bigint | undefined {
  const sides = text.split('::');
  if (sides.length > 2) return undefined;
  const isCompressed = sides.length === 2;
  const head = parseGroups(sides[0] ?? '', !isCompressed);
  const tail = isCompressed ? parseGroups(sides[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const given = head.length + tail.length;
  if (isCompressed ? given > 7 : given !== 8) return undefined;
  let value = 0n;
  for (const group of head) value = (value << 16n) | BigInt(group);
  value <<= BigInt(16 * (8 - given));
  for (const group of tail) value = (value << 16n) | BigInt(group);
  return value;
}

/** An IPv4 or IPv6 address; undefined if the text is not exactly an address. */
export function parseIp(text: string): Ip | undefined {
  const family = familyOf(text);
  const value = family === 4 ? parseV4(text) : parseV6(text);
  return value === undefined ? undefined : { family, value };
}

function formatV6(value: bigint): string {
  const groups: string[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(((value >> shift) & 0xffffn).toString(16));
  let bestStart = 0;
  let bestLength = 0;
  let start = 0;
  for (let index = 0; index <= groups.length; index += 1) {
    if (groups[index] === '0') continue;
    if (index - start > bestLength) [bestStart, bestLength] = [start, index - start];
    start = index + 1;
  }
  // RFC 5952 4.2.2: a single zero group is not compressed.
  if (bestLength < 2) return groups.join(':');
  return `${groups.slice(0, bestStart).join(':')}::${groups.slice(bestStart + bestLength).join(':')}`;
}

/** Canonical text: dotted quad, or RFC 5952 in lower case. */
export function formatIp(ip: Ip): string {
  if (ip.family === 6) return formatV6(ip.value);
  const value = Number(ip.value);
  return `${Math.floor(value / 16777216)}.${(value >> 16) & 255}.${(value >> 8) & 255}.${value & 255}`;
}
