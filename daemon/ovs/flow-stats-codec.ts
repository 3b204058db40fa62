/**
 * Encodes requests for the counters of flows, and decodes the replies (OpenFlow 1.5, Open Networking Foundation TS-025, 7.3.5.2). Fields that are
 * not needed are skipped by their lengths. Pure.
 */
import type { FlowCount } from '../model/flow-count.ts';
import { anyMatch, anyPort, message, messageType, u16, u32, u64, type Message } from './openflow-codec.ts';

const flowDescriptions = 1;
const allTables = 0xff;
const wholeCookie = 0xffff_ffff_ffff_ffffn;

interface Selection {
  readonly table: number;
  readonly cookie: bigint;
  readonly cookieMask: bigint;
}

function request({ table, cookie, cookieMask }: Selection, xid: number): Buffer {
  const fields = [Buffer.from([table, 0, 0, 0]), u32(anyPort), u32(anyPort), u32(0), u64(cookie), u64(cookieMask)];
  const header = Buffer.concat([u16(flowDescriptions), u16(0), u32(0)]);
  return message(messageType.multipartRequest, Buffer.concat([header, ...fields, anyMatch]), xid);
}

/** Open vSwitch has an index of cookies: the cost does not depend on the number of flows. */
export function askByCookie(cookie: number, xid: number): Buffer {
  return request({ table: allTables, cookie: BigInt(cookie), cookieMask: wholeCookie }, xid);
}

export function askByTable(table: number, xid: number): Buffer {
  return request({ table, cookie: 0n, cookieMask: 0n }, xid);
}

export interface FlowReply {
  readonly flows: readonly FlowCount[];
  /** Whether a further message belongs to the same reply. */
  readonly hasMore: boolean;
}

/** @throws RangeError if it is no such reply */
export function readFlowReply({ type, body }: Message): FlowReply {
  if (type !== messageType.multipartReply || body.readUInt16BE(0) !== flowDescriptions)
    throw new RangeError(`an OpenFlow message of type ${type} in reply to a request for flows`);
  const flows: FlowCount[] = [];
  for (let at = 8; at < body.length;) {
    const length = body.readUInt16BE(at);
    if (length < fixedBytes) throw new RangeError(`a description of a flow of ${length} bytes`);
    flows.push(readFlow(body.subarray(at, at + length)));
    at += length;
  }
  return { flows, hasMore: (body.readUInt16BE(2) & 1) === 1 };
}

const fixedBytes = 24;

function readFlow(bytes: Buffer): FlowCount {
  const matchBytes = bytes.readUInt16BE(fixedBytes + 2);
  const match = bytes.subarray(fixedBytes, fixedBytes + matchBytes);
  const statsAt = fixedBytes + rounded(matchBytes);
  const statsBytes = bytes.readUInt16BE(statsAt + 2);
  const stats = readStats(bytes.subarray(statsAt + 4, statsAt + statsBytes));
  const cookie = Number(bytes.readBigUInt64BE(16) & 0xffff_ffffn);
  return {
    cookie,
    table: bytes.readUInt8(4),
    flow: bytes.subarray(4, 8).toString('latin1') + match.toString('latin1'),
    ...stats,
    ...readPort(match.subarray(4)),
    output: readOutput(bytes.subarray(statsAt + rounded(statsBytes))),
  };
}

function rounded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Statistics are fields of class 0x8002: a number, its length, and the value. */
function readStats(bytes: Buffer): Pick<FlowCount, 'ageMs' | 'packets'> {
  const stats = { ageMs: 0, packets: 0 };
  for (let at = 0; at + 4 <= bytes.length; at += 4 + bytes.readUInt8(at + 3)) {
    const field = bytes.readUInt8(at + 2) >> 1;
    if (field === 0) stats.ageMs = bytes.readUInt32BE(at + 4) * 1000 + bytes.readUInt32BE(at + 8) / 1e6;
    else if (field === 4) stats.packets = Number(bytes.readBigUInt64BE(at + 4));
  }
  return stats;
}

/** Classes of match fields. */
const [basic, registers, nicira] = [0x8000, 0x8001, 0x0001];
const metadataField = 2;
/** Registers in which OVN keeps the numbers of the ports by which a packet enters and leaves a datapath. */
const [inPortRegister, outPortRegister] = [14, 15];

/** What the fields of a match say about OVN's datapath and ports. A register stands alone, or as one half of a pair. */
export function readPort(fields: Buffer): Pick<FlowCount, 'datapath' | 'inPort' | 'outPort'> {
  const found: { datapath?: number; inPort?: number; outPort?: number } = {};
  const note = (register: number, value: number, mask: number): void => {
    if (mask === 0) return;
    if (register === inPortRegister) found.inPort = value;
    if (register === outPortRegister) found.outPort = value;
  };
  for (let at = 0; at + 4 <= fields.length; at += 4 + fields.readUInt8(at + 3)) {
    const oxmClass = fields.readUInt16BE(at);
    const number = fields.readUInt8(at + 2) >> 1;
    const hasMask = (fields.readUInt8(at + 2) & 1) === 1;
    const value = at + 4;
    if (oxmClass === basic && number === metadataField) found.datapath = fields.readUInt32BE(value + 4);
    else if (oxmClass === nicira && number <= outPortRegister)
      note(number, fields.readUInt32BE(value), hasMask ? fields.readUInt32BE(value + 4) : 1);
    else if (oxmClass === registers)
      for (const half of [0, 1] as const) {
        const mask = hasMask ? fields.readUInt32BE(value + 8 + 4 * half) : 1;
        note(2 * number + half, fields.readUInt32BE(value + 4 * half), mask);
      }
  }
  return found;
}

const applyActions = 4;
const outputAction = 0;

/** The port of the only action of a flow, if it is an output. */
function readOutput(instructions: Buffer): number | undefined {
  if (instructions.length < 24 || instructions.readUInt16BE(0) !== applyActions) return undefined;
  return instructions.readUInt16BE(8) === outputAction ? instructions.readUInt32BE(12) : undefined;
}
