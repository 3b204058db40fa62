import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { GobgpInvalidArgument } from './errors.ts';

/** 4 or 16 bytes of an address. @throws GobgpInvalidArgument, also for addresses with a zone */
export function addressBytes(address: string): Uint8Array {
  if (isIPv4(address)) return ipv4Bytes(address);
  if (isIPv6(address) && !address.includes('%')) return ipv6Bytes(address);
  throw new GobgpInvalidArgument(`'${address}' is not an IP address`);
}

/** The one spelling of an address that gobgpd also uses. @throws GobgpInvalidArgument */
export function canonicalAddress(address: string): string {
  return addressText(addressBytes(address));
}

/**
 * The canonical form of a neighbour's address. A link-local address includes its interface, `fe80::1%eth1`, without which it is ambiguous.
 * @throws GobgpInvalidArgument
 */
export function canonicalNeighbor(address: string): string {
  const [text = '', zone] = address.split('%', 2);
  const canonical = canonicalAddress(text);
  if (zone === undefined) return canonical;
  if (!linkLocal.test(canonical) || !interfaceName.test(zone))
    throw new GobgpInvalidArgument(`'${address}' is not a link-local address with an interface`);
  return `${canonical}%${zone}`;
}

const linkLocal = /^fe[89ab][0-9a-f]:/;
/** As the kernel takes them. */
const interfaceName = /^[^\s/:%]{1,15}$/;

/** A neighbour's address without its interface. */
export function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
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

/** Of a text that is an address. Each path of ten thousand comes by here. */
function ipv4Bytes(address: string): Uint8Array {
  const bytes = Buffer.allocUnsafe(4);
  let [group, value] = [0, 0];
  for (let at = 0; at < address.length; at++) {
    const code = address.charCodeAt(at);
    if (code === 0x2e) {
      bytes[group++] = value;
      value = 0;
    } else value = value * 10 + code - 0x30;
  }
  bytes[group] = value;
  return bytes;
}

/** Of a text that is an address without a zone. */
function ipv6Bytes(address: string): Uint8Array {
  const bytes = Buffer.alloc(16);
  let [at, gap, value, start] = [0, -1, 0, 0];
  for (let index = 0; index < address.length; index++) {
    const code = address.charCodeAt(index);
    if (code === 0x3a) {
      const isGap = address.charCodeAt(index + 1) === 0x3a;
      if (index > 0) at = bytes.writeUInt16BE(value, at);
      if (isGap) {
        gap = at;
        index += 1;
      }
      [value, start] = [0, index + 1];
    } else if (code === 0x2e) {
      bytes.set(ipv4Bytes(address.slice(start)), at);
      return withGap(bytes, at + 4, gap);
    } else value = value * 16 + hexDigit(code);
  }
  if (start < address.length) at = bytes.writeUInt16BE(value, at);
  return withGap(bytes, at, gap);
}

/** The groups after the two colons go to the end. */
function withGap(bytes: Buffer, written: number, gap: number): Uint8Array {
  if (gap < 0 || written === 16) return bytes;
  bytes.copyWithin(16 - (written - gap), gap, written);
  bytes.fill(0, gap, 16 - (written - gap));
  return bytes;
}

function hexDigit(code: number): number {
  return code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57;
}
