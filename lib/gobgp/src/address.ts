import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { GobgpInvalidArgument } from './errors.ts';

/** 4 or 16 bytes of an address. @throws GobgpInvalidArgument, also for addresses with a zone */
export function addressBytes(address: string): Uint8Array {
  if (isIPv4(address)) return Uint8Array.from(address.split('.'), Number);
  if (isIPv6(address) && !address.includes('%')) return ipv6Bytes(address);
  throw new GobgpInvalidArgument(`'${address}' is not an IP address`);
}

/** The one spelling of an address that gobgpd also uses. @throws GobgpInvalidArgument */
export function canonicalAddress(address: string): string {
  return addressText(addressBytes(address));
}

/** The text form of 4 or 16 bytes. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  );
  // The runtime's inet_ntop knows the rules of RFC 5952.
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address;
}

function ipv6Bytes(address: string): Uint8Array {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const text = dotted
    ? `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`
    : address;
  const [head = '', tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  const bytes = new Uint8Array(16);
  for (const [at, group] of [...left, ...zeros, ...right].entries()) {
    const value = Number.parseInt(group, 16);
    bytes[2 * at] = value >> 8;
    bytes[2 * at + 1] = value & 0xff;
  }
  return bytes;
}
