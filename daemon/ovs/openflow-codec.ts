/**
 * Encodes and decodes the few messages of OpenFlow 1.5 that add and remove flows (Open Networking Foundation TS-025). ovn-controller also
 * uses 1.5, so a bridge of OVN never refuses it. Pure.
 */
import { ipBytes, macBytes } from '../../lib/netlink/message.ts';
import type { PacketMatch } from '../model/packet-match.ts';

const version = 6;
const headerBytes = 8;

export const messageType = {
  hello: 0,
  error: 1,
  echoRequest: 2,
  echoReply: 3,
  experimenter: 4,
  setConfig: 9,
  packetIn: 10,
  flowRemoved: 11,
  packetOut: 13,
  flowMod: 14,
  multipartRequest: 18,
  multipartReply: 19,
  setAsync: 28,
  bundleControl: 33,
  bundleAdd: 34,
} as const;

export interface Message {
  readonly type: number;
  readonly xid: number;
  readonly body: Buffer;
}

export function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/** Only answers need an xid: that of their question. */
export function message(type: number, body: Buffer = Buffer.alloc(0), xid = 0): Buffer {
  return Buffer.concat([Buffer.from([version, type]), u16(headerBytes + body.length), u32(xid), body]);
}

/** Splits `bytes` into complete messages and the rest. @throws RangeError if it is not OpenFlow */
export function readMessages(bytes: Buffer): { readonly messages: readonly Message[]; readonly rest: Buffer } {
  const messages: Message[] = [];
  let at = 0;
  while (bytes.length - at >= headerBytes) {
    const length = bytes.readUInt16BE(at + 2);
    if (length < headerBytes) throw new RangeError(`an OpenFlow message of ${length} bytes`);
    if (bytes.length - at < length) break;
    const body = bytes.subarray(at + headerBytes, at + length);
    messages.push({ type: bytes.readUInt8(at + 1), xid: bytes.readUInt32BE(at + 4), body });
    at += length;
  }
  return { messages, rest: bytes.subarray(at) };
}

const basic = 0x8000;
/** OVN's number of the datapath, which its flows of the first table set. */
const metadataField = 2;
const nicira = 0x0001;
const present = u16(0x1000);

const none = Buffer.alloc(0);

function field(oxmClass: number, number: number, value: Buffer, mask: Buffer = none): Buffer {
  const hasMask = mask.length > 0 ? 1 : 0;
  return Buffer.concat([
    u16(oxmClass),
    Buffer.from([(number << 1) | hasMask, value.length + mask.length]),
    value,
    mask,
  ]);
}

/** Fields must come after their prerequisites. */
function matchBytes(inPort: number, match: PacketMatch, isFirstPass = false): Buffer {
  const { ethernetDestination: to, etherType, ipProtocol, ipv4Source, ipv6Source, ipv6Destination } = match;
  const { ipv4Destination, arpSender, udpDestination, icmp4Type, icmp6Type, neighbourTarget } = match;
  const byte = (value: number): Buffer => Buffer.from([value]);
  const fields = Buffer.concat([
    field(basic, 0, u32(inPort)),
    isFirstPass ? field(basic, metadataField, u64(0n)) : none,
    to === undefined ? none : field(basic, 3, macBytes(to.mac), macBytes(to.mask)),
    etherType === undefined ? none : field(basic, 5, u16(etherType)),
    match.isTagged === undefined ? none : field(basic, 6, present, present),
    match.fragment === undefined ? none : field(nicira, 26, byte(1), byte(match.fragment === 'first' ? 3 : 1)),
    ipProtocol === undefined ? none : field(basic, 10, byte(ipProtocol)),
    ipv4Source === undefined ? none : field(basic, 11, ipBytes(ipv4Source)),
    ipv4Destination === undefined
      ? none
      : field(basic, 12, ipBytes(ipv4Destination.address), ipBytes(ipv4Destination.mask)),
    udpDestination === undefined ? none : field(basic, 16, u16(udpDestination)),
    icmp4Type === undefined ? none : field(basic, 19, byte(icmp4Type)),
    arpSender === undefined ? none : field(basic, 22, ipBytes(arpSender)),
    ipv6Source === undefined ? none : field(basic, 26, ipBytes(ipv6Source.address), ipBytes(ipv6Source.mask)),
    ipv6Destination === undefined
      ? none
      : field(basic, 27, ipBytes(ipv6Destination.address), ipBytes(ipv6Destination.mask)),
    icmp6Type === undefined ? none : field(basic, 29, byte(icmp6Type)),
    neighbourTarget === undefined ? none : field(basic, 31, ipBytes(neighbourTarget)),
  ]);
  return padded(Buffer.concat([u16(1), u16(4 + fields.length), fields]));
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
}

export const anyPort = 0xffff_ffff;
/** All packets. */
export const anyMatch = padded(Buffer.concat([u16(1), u16(4)]));
const noBuffer = 0xffff_ffff;
const command = { add: 0, delete: 3 } as const;
const tellsRemoval = 1;

interface FlowMod {
  readonly command: number;
  readonly cookie: bigint;
  readonly cookieMask: bigint;
  readonly priority: number;
  readonly match: Buffer;
  readonly instructions?: Buffer;
}

/** A flow without instructions drops the packets that match. */
function flowMod(mod: FlowMod): Buffer {
  const fields = [
    u64(mod.cookie),
    u64(mod.cookieMask),
    Buffer.from([firstTable, mod.command]),
    Buffer.alloc(4),
    u16(mod.priority),
    u32(noBuffer),
    u32(anyPort),
    u32(anyPort),
    u16(tellsRemoval),
    Buffer.alloc(2),
    mod.match,
    mod.instructions ?? none,
  ];
  return message(messageType.flowMod, Buffer.concat(fields));
}

const firstTable = 0;
/** Higher than all flows of ovn-controller in this table. */
const priority = 60_000;
/** Lower than drops: what is dropped is not copied. */
const copyPriority = 50_000;

export interface Drop {
  readonly inPort: number;
  readonly match: PacketMatch;
  readonly cookie: bigint;
}

/** Adds a flow to the first table; its removal by any controller is reported. */
export function addDrop({ inPort, match, cookie }: Drop): Buffer {
  return flowMod({ command: command.add, cookie, cookieMask: 0n, priority, match: matchBytes(inPort, match) });
}

const vendor = u32(0x2320);
const experimenter = 0xffff;
const [setField, applyActions] = [25, 4];
const [toController, resubmitTable] = [20, 14];
/** The first table again, as from the port by which the packet came. */
const inPortAgain = 0xfff8;
const actionReason = 1;
/** A question has a name of at most 255 bytes, after at most 14 + 8 bytes of Ethernet, 60 of IP, 8 of UDP and 12 of DNS. */
const copiedBytes = 512;

function action(type: number, body: Buffer): Buffer {
  const bytes = padded(Buffer.concat([u16(type), u16(0), body]));
  bytes.writeUInt16BE(bytes.length, 2);
  return bytes;
}

/**
 * Adds a flow to the first table that copies packets to connections with the id, and then has the table judge them once more, as if they had just come: with another datapath
 * than 0, this flow matches them no longer, and the flow of ovn-controller for the port sets that of the port.
 */
export function addCopy({ inPort, match, cookie }: Drop, controllerId: number): Buffer {
  const actions = Buffer.concat([
    action(
      experimenter,
      Buffer.concat([vendor, u16(toController), u16(copiedBytes), u16(controllerId), Buffer.from([actionReason, 0])]),
    ),
    action(setField, field(basic, metadataField, u64(0xffff_ffffn))),
    action(
      experimenter,
      Buffer.concat([vendor, u16(resubmitTable), u16(inPortAgain), Buffer.from([firstTable, 0, 0, 0])]),
    ),
  ]);
  const instructions = Buffer.concat([u16(applyActions), u16(8 + actions.length), Buffer.alloc(4), actions]);
  const flow = { command: command.add, cookie, cookieMask: 0n, priority: copyPriority };
  return flowMod({ ...flow, match: matchBytes(inPort, match, true), instructions });
}

const fromController = 0xffff_fffd;
const output = 0;
const wholePacket = 0xffff;

/** Sends a frame by a port of the bridge. */
export function packetOut(outPort: number, frame: Buffer): Buffer {
  const actions = action(output, Buffer.concat([u32(outPort), u16(wholePacket), Buffer.alloc(6)]));
  const start = Buffer.concat([u32(noBuffer), u16(actions.length), Buffer.alloc(2)]);
  return message(messageType.packetOut, Buffer.concat([start, matchBytes(fromController, {}), actions, frame]));
}

/** Deletes all flows of the first table whose cookies agree in the bits of the mask. */
export function deleteFlows(cookie: bigint, cookieMask: bigint): Buffer {
  return flowMod({ command: command.delete, cookie, cookieMask, priority: 0, match: anyMatch });
}

/** The cookie of a removed flow. */
export function removedCookie({ body }: Message): bigint {
  return body.readBigUInt64BE(8);
}

export const bundle = { open: 0, close: 2, commit: 4, committed: 5 } as const;
/** All messages of a bundle take effect, in order, or none. */
const atomicAndOrdered = 3;

export function bundleControl(id: number, type: number): Buffer {
  return message(messageType.bundleControl, Buffer.concat([u32(id), u16(type), u16(atomicAndOrdered)]));
}

export function bundleAdd(id: number, inner: Buffer): Buffer {
  return message(messageType.bundleAdd, Buffer.concat([u32(id), u16(0), u16(atomicAndOrdered), inner]));
}

/** Id of the bundle and type of the message. */
export function readBundleControl({ body }: Message): { readonly id: number; readonly type: number } {
  return { id: body.readUInt32BE(0), type: body.readUInt16BE(4) };
}

const anyReason = 0x3f;

function askFor(packets: number, removals: number): Buffer {
  // Pairs of properties, for the roles slave and master: packets, ports, removed flows.
  const properties = [packets, packets, 0, 0, removals, removals].map((reasons, type) =>
    Buffer.concat([u16(type), u16(8), u32(reasons)]),
  );
  return message(messageType.setAsync, Buffer.concat(properties));
}

/** Asks for messages about removed flows only: packets for ovn-controller must not come here. */
export function askForRemovals(): Buffer {
  return askFor(0, anyReason);
}

/** Asks for copies of the packets that flows send to ovn-controller, and nothing else. */
export function askForPackets(): Buffer {
  return askFor(anyReason, 0);
}

const setControllerId = 20;

/** Asks for packets of flows that name this id, and no longer for those of ovn-controller, which have the id 0. */
export function takeControllerId(id: number): Buffer {
  return message(messageType.experimenter, Buffer.concat([vendor, u32(setControllerId), Buffer.alloc(6), u16(id)]));
}

/** A value of Open vSwitch: first fragments are matched by their ports. Otherwise all flows of the bridge see 0 for them. */
const portsOfFirstPieces = 3;

export function showPortsOfFirstPieces(): Buffer {
  // Over its socket, Open vSwitch sends asynchronous messages only to connections with a miss_send_len above 0.
  const fewBytes = 1;
  return message(messageType.setConfig, Buffer.concat([u16(portsOfFirstPieces), u16(fewBytes)]));
}
