import { GobgpInvalidArgument } from './errors.ts';

/** The 32 bits of `asn:value` (RFC 1997). @throws GobgpInvalidArgument */
export function communityWord(community: string): number {
  const [asn, value] = numbersOf(community, 2, 0xffff);
  return (asn ?? 0) * 0x10000 + (value ?? 0);
}

/** The text of 32 bits as `asn:value`. */
export function communityText(word: number): string {
  return `${Math.floor(word / 0x10000)}:${word % 0x10000}`;
}

/** The three words of `asn:value:value` (RFC 8092). @throws GobgpInvalidArgument */
export function largeCommunityWords(community: string): number[] {
  return numbersOf(community, 3, 0xffffffff);
}

/** The one spelling of a community, without leading zeros. @throws GobgpInvalidArgument */
export function canonicalCommunity(community: string): string {
  return communityText(communityWord(community));
}

/** The one spelling of a large community, without leading zeros. @throws GobgpInvalidArgument */
export function canonicalLargeCommunity(community: string): string {
  return largeCommunityWords(community).join(':');
}

function numbersOf(text: string, count: number, max: number): number[] {
  const parts = text.split(':');
  const numbers = parts.map(Number);
  if (parts.length !== count || parts.some((part, at) => !/^\d+$/.test(part) || (numbers[at] ?? 0) > max)) {
    throw new GobgpInvalidArgument(`'${text}' is not a community of ${count} numbers up to ${max}`);
  }
  return numbers;
}
