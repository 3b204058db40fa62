/**
 * Chains, rules and elements of nf_tables as netlink messages. Rules: those that nft(8) 1.0.6 does not write, one that looks up a map with two values
 * in a table that exists already, and one that updates a map whose keys are longer than 16 bytes. Elements: to change a few costs a fraction of
 * what a start of nft costs. Pure.
 */
import type { Family } from '../net/ip.ts';
import * as wire from './message.ts';

/** NFNL_SUBSYS_NFTABLES */
const subsystem = 10;
const NFT_MSG = { NEWCHAIN: 3, NEWRULE: 6, NEWSETELEM: 12, DELSETELEM: 14 } as const;
const NFNL_MSG = { BATCH_BEGIN: 0x10, BATCH_END: 0x11 } as const;
const NLM_F = { REQUEST: 1, ACK: 4, CREATE: 0x400, APPEND: 0x800 } as const;
const NFPROTO_INET = 1;
const familyNumber = { 4: 2, 6: 10 } as const;
/** NFT_REG32_00; each further register has four bytes more. */
const firstRegister = 8;
const nested = 0x8000;

/** A step of a rule; it reads and writes registers of four bytes, counted from 0. */
export interface Expression {
  readonly name: string;
  readonly attributes: readonly Buffer[];
}

export interface NewChain {
  readonly name: string;
  readonly rules: readonly (readonly Expression[])[];
}

/** A message of a transaction. */
export interface Change {
  readonly type: number;
  readonly flags: number;
  readonly body: readonly Buffer[];
}

/** An element of a set or map. */
export interface SetElement {
  readonly key: Buffer;
  /** Undefined in a set, and for an element to delete. */
  readonly value: Buffer | Verdict | undefined;
}

export type Verdict = 'accept' | 'drop' | { readonly goto: string };

/** Adds chains to a table of family inet. */
export function newChains(table: string, chains: readonly NewChain[]): readonly Change[] {
  const bodies: Change[] = [];
  for (const { name, rules } of chains) {
    const [inTable, inChain] = [wire.attribute(1, wire.text(table)), wire.text(name)];
    bodies.push({ type: NFT_MSG.NEWCHAIN, flags: NLM_F.CREATE, body: [inTable, wire.attribute(3, inChain)] });
    for (const rule of rules)
      bodies.push({
        type: NFT_MSG.NEWRULE,
        flags: NLM_F.CREATE | NLM_F.APPEND,
        body: [inTable, wire.attribute(2, inChain), wire.attribute(4 | nested, ...rule.map(encodeExpression))],
      });
  }
  return bodies;
}

/** Elements of one message: the length of an attribute has 16 bits. */
const elementsAtOnce = 256;

/** Adds elements to a set or map of a table of family inet, or deletes them. */
export function changeElements(
  verb: 'add' | 'delete',
  table: string,
  set: string,
  elements: readonly SetElement[],
): readonly Change[] {
  const [type, flags] = verb === 'add' ? [NFT_MSG.NEWSETELEM, NLM_F.CREATE] : [NFT_MSG.DELSETELEM, 0];
  const [inTable, inSet] = [wire.attribute(1, wire.text(table)), wire.attribute(2, wire.text(set))];
  const encoded = elements.map(encodeElement);
  const changes: Change[] = [];
  for (let at = 0; at < encoded.length; at += elementsAtOnce)
    changes.push({
      type,
      flags,
      body: [inTable, inSet, wire.attribute(3 | nested, ...encoded.slice(at, at + elementsAtOnce))],
    });
  return changes;
}

/** One transaction as one buffer. The kernel answers to the message with the number `last`. */
export function encodeTransaction(
  bodies: readonly Change[],
  port: number,
): { readonly data: Buffer; readonly last: number } {
  const last = bodies.length;
  const messages = bodies.map(({ type, flags, body }, index) => {
    const answer = index + 1 === last ? NLM_F.ACK : 0;
    return encodeMessage((subsystem << 8) | type, NLM_F.REQUEST | flags | answer, index + 1, port, [
      Buffer.from([NFPROTO_INET, 0, 0, 0]),
      ...body,
    ]);
  });
  const edge = [Buffer.from([0, 0, 0, subsystem])];
  const [begin, end] = [NFNL_MSG.BATCH_BEGIN, NFNL_MSG.BATCH_END];
  return {
    data: Buffer.concat([
      encodeMessage(begin, NLM_F.REQUEST, 0, port, edge),
      ...messages,
      encodeMessage(end, NLM_F.REQUEST, last + 1, port, edge),
    ]),
    last,
  };
}

/** Ends the rule for packets of another family. */
export function isFamily(family: Family): readonly Expression[] {
  return [loadMeta(15, 0), equals(0, Buffer.from([familyNumber[family]]))];
}

/** Ends the rule for packets of another transport protocol. */
export function isTransport(number: number): readonly Expression[] {
  return [loadTransport(0), equals(0, Buffer.from([number]))];
}

export function loadTransport(register: number): Expression {
  return loadMeta(16, register);
}

export function loadAddress(family: Family, field: 'source' | 'destination', register: number): Expression {
  const offset = { 4: { source: 12, destination: 16 }, 6: { source: 8, destination: 24 } }[family][field];
  return loadPayload(1, offset, addressBytes[family], register);
}

export function loadDestinationPort(register: number): Expression {
  return loadPayload(2, 2, 2, register);
}

/** An address before the translation. */
export function loadOriginalAddress(family: Family, field: 'source' | 'destination', register: number): Expression {
  const key = { 4: { source: 19, destination: 20 }, 6: { source: 21, destination: 22 } }[family][field];
  return loadConnection(key, register);
}

/** The port before the translation. */
export function loadOriginalPort(register: number): Expression {
  return loadConnection(12, register);
}

/** All zeros, as many bytes as an address has. */
export function clearAddress(family: Family, register: number): Expression {
  const zero = dataValue(Buffer.alloc(addressBytes[family]));
  return {
    name: 'bitwise',
    attributes: [
      number(1, firstRegister + register),
      number(2, firstRegister + register),
      number(3, addressBytes[family]),
      wire.attribute(4 | nested, zero),
      wire.attribute(5 | nested, zero),
    ],
  };
}

/** A random number below the modulus. */
export function loadRandom(modulus: number, register: number): Expression {
  return { name: 'numgen', attributes: [number(1, firstRegister + register), number(2, modulus), number(3, 1)] };
}

/** Ends the rule where the map does not have the key. */
export function lookUp(map: string, keyRegister: number, valueRegister: number): Expression {
  return {
    name: 'lookup',
    attributes: [
      wire.attribute(1, wire.text(map)),
      number(2, firstRegister + keyRegister),
      number(3, firstRegister + valueRegister),
    ],
  };
}

export function translateDestination(family: Family, addressRegister: number, portRegister: number): Expression {
  return {
    name: 'nat',
    attributes: [
      number(1, 1),
      number(2, familyNumber[family]),
      number(3, firstRegister + addressRegister),
      number(5, firstRegister + portRegister),
    ],
  };
}

export function updateMap(map: string, keyRegister: number, valueRegister: number, seconds: number): Expression {
  const milliseconds = Buffer.alloc(8);
  milliseconds.writeBigUInt64BE(BigInt(seconds) * 1000n);
  return {
    name: 'dynset',
    attributes: [
      wire.attribute(1, wire.text(map)),
      number(3, 1),
      number(4, firstRegister + keyRegister),
      number(5, firstRegister + valueRegister),
      wire.attribute(6, milliseconds),
    ],
  };
}

const addressBytes = { 4: 4, 6: 16 } as const;
/** Registers of an address. */
export const addressRegisters = { 4: 1, 6: 4 } as const;

function loadMeta(key: number, register: number): Expression {
  return { name: 'meta', attributes: [number(1, firstRegister + register), number(2, key)] };
}

function loadPayload(base: number, offset: number, length: number, register: number): Expression {
  return {
    name: 'payload',
    attributes: [number(1, firstRegister + register), number(2, base), number(3, offset), number(4, length)],
  };
}

/** Of the original direction. */
function loadConnection(key: number, register: number): Expression {
  const direction = wire.attribute(3, Buffer.from([0]));
  return { name: 'ct', attributes: [number(1, firstRegister + register), number(2, key), direction] };
}

function equals(register: number, value: Buffer): Expression {
  return {
    name: 'cmp',
    attributes: [number(1, firstRegister + register), number(2, 0), wire.attribute(3 | nested, dataValue(value))],
  };
}

function dataValue(bytes: Buffer): Buffer {
  return wire.attribute(1, bytes);
}

/** Numbers of nf_tables are in network byte order. */
function number(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return wire.attribute(type, bytes);
}

/** NF_DROP, NF_ACCEPT and NFT_GOTO */
const verdictCode = { drop: 0, accept: 1, goto: -4 } as const;

function encodeElement({ key, value }: SetElement): Buffer {
  const parts = [wire.attribute(1 | nested, dataValue(key))];
  if (value !== undefined) {
    const data = Buffer.isBuffer(value) ? dataValue(value) : wire.attribute(2 | nested, ...encodeVerdict(value));
    parts.push(wire.attribute(2 | nested, data));
  }
  return wire.attribute(1 | nested, ...parts);
}

function encodeVerdict(verdict: Verdict): readonly Buffer[] {
  if (typeof verdict === 'string') return [number(1, verdictCode[verdict] >>> 0)];
  return [number(1, verdictCode.goto >>> 0), wire.attribute(2, wire.text(verdict.goto))];
}

function encodeExpression({ name, attributes }: Expression): Buffer {
  return wire.attribute(1 | nested, wire.attribute(1, wire.text(name)), wire.attribute(2 | nested, ...attributes));
}

/** struct nlmsghdr and the message */
function encodeMessage(type: number, flags: number, sequence: number, port: number, body: readonly Buffer[]): Buffer {
  const data = Buffer.concat(body);
  const length = wire.u32(16 + data.length);
  return Buffer.concat([length, wire.u16(type), wire.u16(flags), wire.u32(sequence), wire.u32(port), data]);
}
