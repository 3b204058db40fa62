/** Ethernet frames as bytes, sent and observed by frames.c: frames of hostile pods, and frames that pods must be able to send. */
import { ipBytes, macBytes } from '../../lib/netlink/message.ts';

export interface Ends {
  readonly mac: string;
  readonly toMac: string;
  readonly ip: string;
  readonly to: string;
}

export const allNodes = { toMac: '33:33:00:00:00:01', to: 'ff02::1' } as const;
const broadcast = 'ff:ff:ff:ff:ff:ff';

function u16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function checksum(data: Buffer): number {
  const even = data.length % 2 === 0 ? data : Buffer.concat([data, Buffer.alloc(1)]);
  let sum = 0;
  for (let at = 0; at < even.length; at += 2) sum += even.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

export function ethernet(toMac: string, mac: string, type: number, payload: Buffer): Buffer {
  return Buffer.concat([macBytes(toMac), macBytes(mac), u16(type), payload]);
}

/** The same frame with tags behind its addresses: `[0x8100, 0]` is a priority tag. */
export function tagged(frame: Buffer, ...tags: readonly (readonly [tpid: number, tci: number])[]): Buffer {
  const all = tags.map(([tpid, tci]) => Buffer.concat([u16(tpid), u16(tci)]));
  return Buffer.concat([frame.subarray(0, 12), ...all, frame.subarray(12)]);
}

function withChecksum({ ip, to }: Ends, protocol: number, message: Buffer, at: number): Buffer {
  const pseudo = Buffer.concat([ipBytes(ip), ipBytes(to), u32(message.length), u32(protocol)]);
  const sum = checksum(Buffer.concat([pseudo, message]));
  return Buffer.concat([message.subarray(0, at), u16(sum), message.subarray(at + 2)]);
}

function udp(source: number, destination: number, payload: Buffer): Buffer {
  return Buffer.concat([u16(source), u16(destination), u16(8 + payload.length), u16(0), payload]);
}

/** Types of IPv6 extension headers, each of eight bytes, between the IPv6 header and the message. */
export const extension = { hopByHop: 0, routing: 43, fragment: 44, destinationOptions: 60 } as const;

export function ipv6(ends: Ends, next: number, payload: Buffer, hopLimit = 255): Buffer {
  const header = Buffer.concat([Buffer.from([0x60, 0, 0, 0]), u16(payload.length), Buffer.from([next, hopLimit])]);
  return ethernet(ends.toMac, ends.mac, 0x86dd, Buffer.concat([header, ipBytes(ends.ip), ipBytes(ends.to), payload]));
}

let packets = 1;

/** An identification for all fragments of one packet and of no other packet. */
function identification(): number {
  packets = (packets + 1) % 0x1_0000;
  return packets;
}

/** One extension header, followed by `next`: six bytes of padding, or the fragment's offset. */
export function extensionHeader(type: number, next: number, fragment = 0, id = identification()): Buffer {
  if (type === extension.fragment) return Buffer.concat([Buffer.from([next, 0]), u16(fragment), u32(id)]);
  return type === extension.routing
    ? Buffer.from([next, 0, 4, 0, 0, 0, 0, 0])
    : Buffer.from([next, 0, 1, 4, 0, 0, 0, 0]);
}

const icmp6 = 58;

export function icmp6Message(ends: Ends, type: number, code: number, body: Buffer): Buffer {
  return withChecksum(ends, icmp6, Buffer.concat([Buffer.from([type, code, 0, 0]), body]), 2);
}

/** An ICMPv6 message, after any extension headers. */
export function icmp6Frame(ends: Ends, type: number, body: Buffer, extensions: readonly number[] = []): Buffer {
  const message = icmp6Message(ends, type, 0, body);
  const chain = extensions.map((one, index) => extensionHeader(one, extensions[index + 1] ?? icmp6));
  return ipv6(ends, extensions[0] ?? icmp6, Buffer.concat([...chain, message]));
}

/** The body of a router advertisement: a prefix, and the sender as router for half an hour. */
export function advertisement(ends: Ends): Buffer {
  const prefix = Buffer.concat([
    Buffer.from([3, 4, 64, 0xc0]),
    u32(3600),
    u32(3600),
    u32(0),
    ipBytes('2001:db8:bad::'),
  ]);
  return Buffer.concat([
    Buffer.from([1, 0]),
    u16(1800),
    u32(0),
    u32(0),
    prefix,
    Buffer.from([1, 1]),
    macBytes(ends.mac),
  ]);
}

export function routerAdvertisement(ends: Ends, extensions: readonly number[] = []): Buffer {
  return icmp6Frame(ends, 134, advertisement(ends), extensions);
}

/** One message in two fragments: the `first` bytes after the fragment header, then the rest. */
export function ipv6Fragments(ends: Ends, next: number, payload: Buffer, first: number): readonly Buffer[] {
  const id = identification();
  const piece = (offset: number, isMore: boolean, bytes: Buffer): Buffer =>
    ipv6(ends, extension.fragment, Buffer.concat([extensionHeader(44, next, offset | (isMore ? 1 : 0), id), bytes]));
  return [piece(0, true, payload.subarray(0, first)), piece(first, false, payload.subarray(first))];
}

export function ipv4(ends: Ends, protocol: number, payload: Buffer, fragment = 0, id = identification()): Buffer {
  const start = Buffer.concat([
    Buffer.from([0x45, 0]),
    u16(20 + payload.length),
    u16(id),
    u16(fragment),
    Buffer.from([64, protocol]),
  ]);
  const addresses = Buffer.concat([ipBytes(ends.ip), ipBytes(ends.to)]);
  const sum = checksum(Buffer.concat([start, u16(0), addresses]));
  return ethernet(ends.toMac, ends.mac, 0x0800, Buffer.concat([start, u16(sum), addresses, payload]));
}

export function icmp4Message(type: number, body: Buffer): Buffer {
  const message = Buffer.concat([Buffer.from([type, 0, 0, 0]), body]);
  message.writeUInt16BE(checksum(message), 2);
  return message;
}

export function icmp4(ends: Ends, type: number, body: Buffer): Buffer {
  return ipv4(ends, 1, icmp4Message(type, body));
}

/** An IGMPv2 message of eight bytes. */
export function igmp(ends: Ends, type: number, group: string): Buffer {
  const message = Buffer.concat([Buffer.from([type, 100, 0, 0]), ipBytes(group)]);
  message.writeUInt16BE(checksum(message), 2);
  return ipv4(ends, 2, message);
}

/** The IPv4 address of a multicast group with the MAC address of its frames (RFC 1112). */
export function toGroup(to: string): Pick<Ends, 'to' | 'toMac'> {
  const [, b = 0, c = 0, d = 0] = ipBytes(to);
  const octets = [0x01, 0x00, 0x5e, b & 0x7f, c, d];
  return { to, toMac: octets.map((octet) => octet.toString(16).padStart(2, '0')).join(':') };
}

export function udp4(ends: Ends, source: number, destination: number, payload: Buffer): Buffer {
  return ipv4(ends, 17, udp(source, destination, payload));
}

/** A UDP packet in two fragments; `first` is a multiple of eight. */
export function udp4Fragments(
  ends: Ends,
  [source, destination]: readonly [number, number],
  payload: Buffer,
  first: number,
): readonly Buffer[] {
  const whole = udp(source, destination, payload);
  const id = identification();
  return [ipv4(ends, 17, whole.subarray(0, first), 0x2000, id), ipv4(ends, 17, whole.subarray(first), first / 8, id)];
}

/** A UDP message with its checksum, which IPv6 requires. */
export function udp6Message(ends: Ends, source: number, destination: number, payload: Buffer): Buffer {
  return withChecksum(ends, 17, udp(source, destination, payload), 6);
}

export function udp6(ends: Ends, source: number, destination: number, payload: Buffer): Buffer {
  return ipv6(ends, 17, udp6Message(ends, source, destination, payload), 64);
}

/** A DHCP message: `kind` 1 is a client's, 2 a server's; `type` is the DHCP message type. */
export function dhcp(kind: 1 | 2, type: number, clientMac: string): Buffer {
  const head = Buffer.concat([Buffer.from([kind, 1, 6, 0]), u32(0x1234), u16(0), u16(0x8000), Buffer.alloc(16)]);
  const rest = Buffer.concat([macBytes(clientMac), Buffer.alloc(10 + 64 + 128), u32(0x63825363)]);
  return Buffer.concat([head, rest, Buffer.from([53, 1, type, 255])]);
}

/** A broadcast frame of an experimental type. It arrives after all frames sent before it. */
export function marker(mac: string, text: string): Buffer {
  return ethernet(broadcast, mac, 0x88b5, Buffer.from(text.padEnd(46, ' ')));
}

/** The link-local address of an interface with this MAC address (RFC 4291, appendix A). */
export function linkLocal(mac: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = macBytes(mac);
  const words = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f];
  return `fe80::${words.map((word) => word.toString(16)).join(':')}`;
}

const arpEthernet = Buffer.from([0, 1, 8, 0, 6, 4]);

/** A broadcast which announces that the address is at this MAC address. */
export function gratuitousArp(mac: string, ip: string): Buffer {
  const own = Buffer.concat([macBytes(mac), ipBytes(ip)]);
  return ethernet(broadcast, mac, 0x0806, Buffer.concat([arpEthernet, Buffer.from([0, 2]), own, own]));
}
