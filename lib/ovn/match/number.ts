import { bitsOf, parseIp } from '../../net/ip.ts';

export type NumberFormat = 'decimal' | 'hexadecimal' | 'IPv4' | 'IPv6' | 'Ethernet';

/** An integer constant, perhaps masked; bits outside of the mask are cleared in `value`. */
export interface NumberConstant {
  readonly format: NumberFormat;
  readonly value: bigint;
  readonly mask?: bigint;
}

/** OVN keeps constants in 1024 bits. */
const maxHexDigits = 256;

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}

/** Bits a field needs to be compared with the constant; addresses count whole, masked constants by their mask. */
export function widthOf(constant: NumberConstant): number {
  if (constant.mask !== undefined) return bitLength(constant.mask);
  if (constant.format === 'IPv4') return 32;
  if (constant.format === 'IPv6') return 128;
  return constant.format === 'Ethernet' ? 48 : bitLength(constant.value);
}

function parseDecimal(text: string): NumberConstant | string {
  if (text.length > 1 && text.startsWith('0')) return 'has a leading zero';
  const value = text.length > 20 ? 1n << 64n : BigInt(text);
  return value >> 64n === 0n ? { format: 'decimal', value } : 'is not below 2^64: write it in hexadecimal';
}

function parseHexadecimal(digits: string): NumberConstant | string {
  if (!/^[0-9a-fA-F]+$/.test(digits)) return 'is not a hexadecimal number';
  const significant = digits.replace(/^0+/, '');
  if (significant.length > maxHexDigits) return 'has more than 1024 bits';
  return { format: 'hexadecimal', value: BigInt(`0x0${significant}`) };
}

/** OVN scans six hexadecimal numbers and asks for 17 characters, so that a group can be shorter or longer than two. */
function parseEthernet(text: string): NumberConstant | undefined {
  if (text.length !== 17 || !/^(?:0[xX])?[0-9a-fA-F]+(?::(?:0[xX])?[0-9a-fA-F]+){5}$/.test(text)) return undefined;
  let value = 0n;
  for (const group of text.split(':')) value = (value << 8n) | BigInt(Number.parseInt(group, 16) & 255);
  return { format: 'Ethernet', value };
}

function parseUnmasked(text: string): NumberConstant | string {
  const ethernet = parseEthernet(text);
  if (ethernet !== undefined) return ethernet;
  if (/^\d+$/.test(text)) return parseDecimal(text);
  if (/^0[xX]/.test(text)) return parseHexadecimal(text.slice(2));
  // The longest IPv6 address in text has 45 characters.
  const ip = text.length > 45 ? undefined : parseIp(text);
  if (ip !== undefined) return { format: ip.family === 4 ? 'IPv4' : 'IPv6', value: ip.value };
  if (text.includes(':')) return 'is neither an IPv6 nor a MAC address';
  return text.includes('.') ? 'is not an IPv4 address' : 'is not a number';
}

function maskOf(constant: NumberConstant, mask: NumberConstant): bigint | string {
  if (constant.format === mask.format) return mask.value;
  if (mask.format === 'decimal' && (constant.format === 'IPv4' || constant.format === 'IPv6')) {
    const bits = bitsOf(constant.format === 'IPv4' ? 4 : 6);
    // OVN reads a prefix length into 32 bits.
    const prefix = Number(BigInt.asUintN(32, mask.value));
    if (prefix > bits) return `has a prefix length above ${bits}`;
    return ((1n << BigInt(prefix)) - 1n) << BigInt(bits - prefix);
  }
  if (constant.format === 'decimal' && constant.value === 0n && mask.format === 'hexadecimal') return mask.value;
  return `has a mask that is not of the same form: ${constant.format} and ${mask.format}`;
}

/** Parses a constant with or without `/mask`. @returns the error, worded to follow the text, if it is none */
export function parseNumber(text: string): NumberConstant | string {
  const slash = text.indexOf('/');
  if (slash < 0) return parseUnmasked(text);
  const constant = parseUnmasked(text.slice(0, slash));
  if (typeof constant === 'string') return constant;
  if (slash === text.length - 1) return 'has no mask after the "/"';
  const given = parseUnmasked(text.slice(slash + 1));
  if (typeof given === 'string') return `has a mask that ${given}`;
  const mask = maskOf(constant, given);
  if (typeof mask === 'string') return mask;
  const format = constant.format === 'decimal' ? given.format : constant.format;
  return { format, value: constant.value & mask, mask };
}
