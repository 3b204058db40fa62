/** rtnetlink messages as bytes: rtattr(7) attributes and the three fixed headers that are used. Pure. */
import { endianness } from 'node:os';
import { formatIp, parseIp } from '../net/ip.ts';

/** Types of messages. */
export const RTM = {
  NEWLINK: 16,
  DELLINK: 17,
  GETLINK: 18,
  NEWADDR: 20,
  DELADDR: 21,
  GETADDR: 22,
  NEWROUTE: 24,
  DELROUTE: 25,
  GETROUTE: 26,
  NEWNEIGH: 28,
  DELNEIGH: 29,
  GETNEIGH: 30,
  NEWRULE: 32,
  DELRULE: 33,
  GETRULE: 34,
  GETQDISC: 38,
  NEWNETCONF: 80,
} as const;
/** The type of an answer, and flags of requests. */
export const NLM = { ERROR: 2, REPLACE: 0x100, EXCL: 0x200, CREATE: 0x400, DUMP: 0x300 } as const;

const isLittle = endianness() === 'LE';

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  if (isLittle) bytes.writeUInt32LE(value >>> 0);
  else bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

export function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  if (isLittle) bytes.writeUInt16LE(value);
  else bytes.writeUInt16BE(value);
  return bytes;
}

export function readU32(bytes: Buffer, offset = 0): number {
  return isLittle ? bytes.readUInt32LE(offset) : bytes.readUInt32BE(offset);
}

export function readU16(bytes: Buffer, offset: number): number {
  return isLittle ? bytes.readUInt16LE(offset) : bytes.readUInt16BE(offset);
}

export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`, 'utf8');
}

export function readText(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/\0$/, '');
}

export function macBytes(mac: string): Buffer {
  return Buffer.from(mac.replaceAll(':', ''), 'hex');
}

/** `02:00:…`, of any number of bytes. */
export function macText(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/(..)(?!$)/g, '$1:');
}

/** 4 or 16 bytes. @throws RangeError where it is not an address: callers pass parsed ones. */
export function ipBytes(address: string): Buffer {
  const ip = parseIp(address);
  if (ip === undefined) throw new RangeError(`${address} is not an IP address`);
  return Buffer.from(ip.value.toString(16).padStart(ip.family === 4 ? 8 : 32, '0'), 'hex');
}

/** The text of 4 or 16 bytes. */
export function ipText(bytes: Buffer): string {
  return formatIp({ family: bytes.length === 4 ? 4 : 6, value: BigInt(`0x${bytes.toString('hex')}`) });
}

export function attribute(type: number, ...payload: readonly Buffer[]): Buffer {
  const body = Buffer.concat(payload);
  const length = 4 + body.length;
  return Buffer.concat([u16(length), u16(type), body, Buffer.alloc((4 - (length % 4)) % 4)]);
}

function* attributesIn(bytes: Buffer): Generator<readonly [type: number, payload: Buffer]> {
  for (let offset = 0; offset + 4 <= bytes.length;) {
    const length = readU16(bytes, offset);
    if (length < 4) return;
    // The two top bits flag nesting and byte order.
    yield [readU16(bytes, offset + 2) & 0x3fff, bytes.subarray(offset + 4, offset + length)];
    offset += (length + 3) & ~3;
  }
}

/** type → payload. Of a repeated attribute the last counts. */
export function readAttributes(bytes: Buffer): ReadonlyMap<number, Buffer> {
  return new Map(attributesIn(bytes));
}

/** The payload of the first attribute of this type. */
export function readAttribute(bytes: Buffer, type: number): Buffer | undefined {
  for (const [one, payload] of attributesIn(bytes)) if (one === type) return payload;
  return undefined;
}

/** struct ifinfomsg */
export function linkHeader(index: number, flags = 0, change = 0): Buffer {
  return Buffer.concat([Buffer.alloc(4), u32(index), u32(flags), u32(change)]);
}

/** struct ifaddrmsg */
export function addressHeader(family: number, prefix: number, flags: number, index: number): Buffer {
  return Buffer.concat([Buffer.from([family, prefix, flags, 0]), u32(index)]);
}

/** struct ndmsg. `state`: NUD_… */
export function neighbourHeader(family: number, index: number, state: number): Buffer {
  return Buffer.concat([Buffer.from([family, 0, 0, 0]), u32(index), u16(state), Buffer.alloc(2)]);
}

/** struct rtmsg */
export function routeHeader(route: {
  family: number;
  prefix: number;
  table: number;
  protocol: number;
  scope: number;
  type: number;
}): Buffer {
  return Buffer.concat([
    Buffer.from([route.family, route.prefix, 0, 0, route.table, route.protocol, route.scope, route.type]),
    u32(0),
  ]);
}

/** struct fib_rule_hdr */
export function ruleHeader(rule: {
  family: number;
  sourcePrefix: number;
  table: number;
  action: number;
  flags: number;
}): Buffer {
  const { family, sourcePrefix, table, action, flags } = rule;
  return Buffer.concat([Buffer.from([family, 0, sourcePrefix, 0, table, 0, 0, action]), u32(flags)]);
}
