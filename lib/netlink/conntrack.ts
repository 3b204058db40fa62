/** Encodes and decodes ctnetlink messages, for UDP entries in the default zone. Pure. */
import type { Family } from '../net/ip.ts';
import * as wire from './message.ts';

/** NFNL_SUBSYS_CTNETLINK in the upper byte. */
export const CT = { GET: (1 << 8) | 1, DELETE: (1 << 8) | 2 } as const;
const CTA = { TUPLE_ORIG: 1, TUPLE_REPLY: 2, ZONE: 18, FILTER: 25 } as const;
const CTA_TUPLE = { IP: 1, PROTO: 2 } as const;
const CTA_PROTO = { NUM: 1, SRC_PORT: 2, DST_PORT: 3 } as const;
const CTA_IP = { 4: { source: 1, destination: 2 }, 6: { source: 3, destination: 4 } } as const;
/** CTA_FILTER_ORIG_FLAGS, and the flag for the number of the protocol. */
const filterOriginal = 1;
const filterProtocol = 1 << 3;
const AF = { 4: 2, 6: 10 } as const;
const udp = 17;
const nested = 0x8000;

export interface Tuple {
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
}

export interface UdpEntry {
  readonly family: Family;
  /** As the client sent it. */
  readonly original: Tuple;
  /** As the answer comes: its source is the endpoint. */
  readonly reply: Tuple;
}

/** The body of a dump of UDP entries. Kernels before 5.8 ignore the filter and answer with all protocols. */
export function udpDump(family: Family): readonly Buffer[] {
  const flags = wire.attribute(filterOriginal, wire.u32(filterProtocol));
  const protocol = wire.attribute(CTA_TUPLE.PROTO | nested, wire.attribute(CTA_PROTO.NUM, Buffer.from([udp])));
  return [
    header(family),
    wire.attribute(CTA.TUPLE_ORIG | nested, protocol),
    wire.attribute(CTA.FILTER | nested, flags),
  ];
}

/** The body of a deletion. */
export function deletionOf({ family, original }: UdpEntry): readonly Buffer[] {
  return [header(family), wire.attribute(CTA.TUPLE_ORIG | nested, ...encodeTuple(family, original))];
}

/** Undefined for entries of other protocols, and for those in a zone, which belong to Open vSwitch. */
export function readUdpEntry(data: Buffer): UdpEntry | undefined {
  const attributes = wire.readAttributes(data.subarray(4));
  const family = data[0] === AF[4] ? 4 : 6;
  const [original, reply] = [attributes.get(CTA.TUPLE_ORIG), attributes.get(CTA.TUPLE_REPLY)];
  if (original === undefined || reply === undefined || attributes.has(CTA.ZONE)) return undefined;
  const [sent, answered] = [readTuple(family, original), readTuple(family, reply)];
  return sent === undefined || answered === undefined ? undefined : { family, original: sent, reply: answered };
}

function readTuple(family: Family, bytes: Buffer): Tuple | undefined {
  const attributes = wire.readAttributes(bytes);
  const ip = wire.readAttributes(attributes.get(CTA_TUPLE.IP) ?? Buffer.alloc(0));
  const protocol = wire.readAttributes(attributes.get(CTA_TUPLE.PROTO) ?? Buffer.alloc(0));
  const [source, destination] = [ip.get(CTA_IP[family].source), ip.get(CTA_IP[family].destination)];
  const [sourcePort, destinationPort] = [protocol.get(CTA_PROTO.SRC_PORT), protocol.get(CTA_PROTO.DST_PORT)];
  if (protocol.get(CTA_PROTO.NUM)?.[0] !== udp || source === undefined || destination === undefined) return undefined;
  if (sourcePort === undefined || destinationPort === undefined) return undefined;
  return {
    source: wire.ipText(source),
    sourcePort: sourcePort.readUInt16BE(),
    destination: wire.ipText(destination),
    destinationPort: destinationPort.readUInt16BE(),
  };
}

function encodeTuple(family: Family, tuple: Tuple): readonly Buffer[] {
  return [
    wire.attribute(
      CTA_TUPLE.IP | nested,
      wire.attribute(CTA_IP[family].source, wire.ipBytes(tuple.source)),
      wire.attribute(CTA_IP[family].destination, wire.ipBytes(tuple.destination)),
    ),
    wire.attribute(
      CTA_TUPLE.PROTO | nested,
      wire.attribute(CTA_PROTO.NUM, Buffer.from([udp])),
      wire.attribute(CTA_PROTO.SRC_PORT, port(tuple.sourcePort)),
      wire.attribute(CTA_PROTO.DST_PORT, port(tuple.destinationPort)),
    ),
  ];
}

function port(number: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(number);
  return bytes;
}

/** struct nfgenmsg */
function header(family: Family): Buffer {
  return Buffer.from([AF[family], 0, 0, 0]);
}
