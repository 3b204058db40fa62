/** Reads the headers of a packet that policies judge. The sender chose every byte: nothing is believed but what is there. Pure. */
import { ipText } from '../../lib/netlink/message.ts';
import type { PacketHeaders } from '../model/packet-in.ts';

const etherType = { ipv4: 0x0800, ipv6: 0x86dd, vlan: 0x8100, serviceVlan: 0x88a8 } as const;
const protocolNames: ReadonlyMap<number, string> = new Map([
  [1, 'ICMP'],
  [6, 'TCP'],
  [17, 'UDP'],
  [58, 'ICMPv6'],
  [132, 'SCTP'],
]);
const withPorts: ReadonlySet<number> = new Set([6, 17, 132]);
/** Extension headers with a length in units of 8 bytes: hop-by-hop, routing, destination, mobility (RFC 8200). */
const extensions: ReadonlySet<number> = new Set([0, 43, 60, 135]);
const [fragmentHeader, authenticationHeader] = [44, 51];
/** A packet may have any number of them. */
const mostExtensions = 8;

const nothing = Buffer.alloc(0);

/** Undefined if it is no packet of IP, or ends before its addresses. */
export function readHeaders(frame: Buffer): PacketHeaders | undefined {
  const headers = readPacket(frame)?.headers;
  // An address of one host may be in a frame for all: each port of the switch gets it.
  return headers && { ...headers, isMulticast: headers.isMulticast || (frame.readUInt8(0) & 1) === 1 };
}

const udpHeaderBytes = 8;

/** What is in a datagram of UDP, perhaps without its end; undefined for another packet. */
export function readDatagram(frame: Buffer): Buffer | undefined {
  const { headers, rest = nothing } = readPacket(frame) ?? {};
  return headers?.protocol === 'UDP' && rest.length >= udpHeaderBytes ? rest.subarray(udpHeaderBytes) : undefined;
}

interface Packet {
  readonly headers: PacketHeaders;
  /** From the header of its protocol on. */
  readonly rest: Buffer;
}

function readPacket(frame: Buffer): Packet | undefined {
  let at = 12;
  for (let tags = 0; tags <= 2 && at + 2 <= frame.length; tags += 1) {
    const type = frame.readUInt16BE(at);
    if (type === etherType.ipv4) return readV4(frame.subarray(at + 2));
    if (type === etherType.ipv6) return readV6(frame.subarray(at + 2));
    if (type !== etherType.vlan && type !== etherType.serviceVlan) return undefined;
    at += 4;
  }
  return undefined;
}

function packetOf(
  ends: Pick<PacketHeaders, 'source' | 'destination' | 'isMulticast'>,
  number: number,
  rest: Buffer,
): Packet {
  const port = withPorts.has(number) && rest.length >= 4 ? rest.readUInt16BE(2) : undefined;
  return { headers: { protocol: protocolNames.get(number) ?? `IP protocol ${number}`, ...ends, port }, rest };
}

function readV4(bytes: Buffer): Packet | undefined {
  if (bytes.length < 20) return undefined;
  const isLater = (bytes.readUInt16BE(6) & 0x1fff) !== 0;
  const first = bytes.readUInt8(16);
  const ends = {
    source: ipText(bytes.subarray(12, 16)),
    destination: ipText(bytes.subarray(16, 20)),
    isMulticast: first >= 224,
  };
  const rest = isLater ? nothing : bytes.subarray(4 * (bytes.readUInt8(0) & 0xf));
  return packetOf(ends, bytes.readUInt8(9), rest);
}

function readV6(bytes: Buffer): Packet | undefined {
  if (bytes.length < 40) return undefined;
  const ends = {
    source: ipText(bytes.subarray(8, 24)),
    destination: ipText(bytes.subarray(24, 40)),
    isMulticast: bytes.readUInt8(24) === 0xff,
  };
  let next = bytes.readUInt8(6);
  let rest = bytes.subarray(40);
  for (let seen = 0; seen < mostExtensions && rest.length >= 8; seen += 1) {
    const own = next;
    if (own === fragmentHeader) {
      const isLater = (rest.readUInt16BE(2) & 0xfff8) !== 0;
      next = rest.readUInt8(0);
      rest = isLater ? nothing : rest.subarray(8);
    } else if (extensions.has(own) || own === authenticationHeader) {
      next = rest.readUInt8(0);
      const units = rest.readUInt8(1);
      rest = rest.subarray(own === authenticationHeader ? 4 * (units + 2) : 8 * (units + 1));
    } else break;
  }
  return packetOf(ends, next, rest);
}
