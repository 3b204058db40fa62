import { addressBytes, addressText } from './address.ts';
import { GobgpInvalidArgument } from './errors.ts';

export type UnicastFamily = 'ipv4-unicast' | 'ipv6-unicast';
export type AddressFamily = UnicastFamily | 'l2vpn-evpn';

export const unicastFamilies: readonly UnicastFamily[] = ['ipv4-unicast', 'ipv6-unicast'];
export const addressFamilies: readonly AddressFamily[] = [...unicastFamilies, 'l2vpn-evpn'];

const familyNumbers = {
  'ipv4-unicast': { afi: 1, safi: 1 },
  'ipv6-unicast': { afi: 2, safi: 1 },
  'l2vpn-evpn': { afi: 25, safi: 70 },
} as const;

/** AFI and SAFI as IANA numbers them. */
export function familyNumber(family: AddressFamily): { readonly afi: number; readonly safi: number } {
  return familyNumbers[family];
}

/** The family of an AFI and SAFI, or undefined for one this package does not speak. */
export function familyOfNumber(afi: number, safi: number): AddressFamily | undefined {
  return addressFamilies.find((family) => familyNumbers[family].afi === afi && familyNumbers[family].safi === safi);
}

/** NLRI bytes of a prefix (RFC 4271 §4.3): length in bits, then as many bytes as that needs. @throws GobgpInvalidArgument */
export function encodePrefix(prefix: string): Uint8Array {
  return encodeUnicast(prefix).nlri;
}

/** NLRI bytes of a prefix, and its family. @throws GobgpInvalidArgument */
export function encodeUnicast(prefix: string): { readonly family: UnicastFamily; readonly nlri: Uint8Array } {
  const { bytes, length } = parsePrefix(prefix);
  const family = bytes.length === 4 ? 'ipv4-unicast' : 'ipv6-unicast';
  const used = Math.ceil(length / 8);
  // Buffers come from a pool: an array of its own is the larger part of the cost of one in ten thousand.
  const nlri = Buffer.allocUnsafe(1 + used);
  nlri[0] = length;
  for (let at = 0; at < used; at++) nlri[1 + at] = bytes[at] ?? 0;
  const spare = used * 8 - length;
  if (spare > 0) nlri[used] = (nlri[used] ?? 0) & (0xff << spare);
  return { family, nlri };
}

/** The prefix of NLRI bytes, in canonical text. @throws GobgpInvalidArgument */
export function decodePrefix(family: UnicastFamily, nlri: Uint8Array): string {
  const size = family === 'ipv4-unicast' ? 4 : 16;
  const length = nlri[0];
  if (length === undefined || length > size * 8 || nlri.length !== 1 + Math.ceil(length / 8)) {
    throw new GobgpInvalidArgument(`NLRI of ${nlri.length} bytes is no ${family} prefix`);
  }
  const bytes = new Uint8Array(size);
  bytes.set(nlri.subarray(1));
  return `${addressText(bytes)}/${length}`;
}

/** The family a prefix belongs to. @throws GobgpInvalidArgument */
export function familyOfPrefix(prefix: string): UnicastFamily {
  return parsePrefix(prefix).bytes.length === 4 ? 'ipv4-unicast' : 'ipv6-unicast';
}

/** Canonical text of a prefix: host bits cleared, shortest address. @throws GobgpInvalidArgument */
export function canonicalPrefix(prefix: string): string {
  return decodePrefix(familyOfPrefix(prefix), encodePrefix(prefix));
}

function parsePrefix(prefix: string): { readonly bytes: Uint8Array; readonly length: number } {
  const slash = prefix.indexOf('/');
  const lengthText = prefix.slice(slash + 1);
  if (slash < 0 || !/^\d{1,3}$/.test(lengthText)) throw new GobgpInvalidArgument(`'${prefix}' is not a prefix`);
  const bytes = addressBytes(prefix.slice(0, slash));
  const length = Number(lengthText);
  if (length > bytes.length * 8) throw new GobgpInvalidArgument(`'${prefix}' has a longer mask than its family allows`);
  return { bytes, length };
}
