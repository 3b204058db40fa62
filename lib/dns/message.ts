/**
 * Messages of DNS (RFC 1035) about addresses: questions as bytes, and answers as values. Pure. Rule: of an answer, only records that belong to the question
 * count, directly or by CNAMEs of the same message.
 */
import { formatIp, type Family } from '../net/ip.ts';

export interface Question {
  readonly name: string;
  readonly family: Family;
}

export interface TimedAddress {
  /** In canonical text. */
  readonly address: string;
  /** That of the record, or of a CNAME on the way to it, whichever is shorter. */
  readonly ttlSeconds: number;
}

export type Answer =
  | { readonly kind: 'addresses'; readonly addresses: readonly TimedAddress[] }
  /** The name does not exist, or has no address of the family. */
  | {
      readonly kind: 'none';
      readonly exists: boolean;
      /** Undefined if the answer does not say. */ readonly ttlSeconds: number | undefined;
    }
  /** The server knows no answer, or gave none. */
  | { readonly kind: 'failed'; readonly reason: string };

export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

const types = { A: 1, CNAME: 5, SOA: 6, AAAA: 28, OPT: 41 } as const;
const internet = 1;
/** Fits into one packet on every path (RFC 9715). */
const udpBytes = 1232;
const headerBytes = 12;
const responseBit = 0x8000;
const opcodeBits = 0x7800;
const truncatedBit = 0x0200;
const recursionDesired = 0x0100;
const refusals: Readonly<Record<number, string>> = { 1: 'FORMERR', 2: 'SERVFAIL', 4: 'NOTIMP', 5: 'REFUSED' };
const nameError = 3;

function typeOf(family: Family): number {
  return family === 4 ? types.A : types.AAAA;
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((text) => Buffer.from(text, 'latin1'));
  return Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), label]), Buffer.of(0)]);
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2);
  return bytes;
}

/** A question to a recursive server. @param id 16 bits that cannot be guessed */
export function encodeQuestion(id: number, { name, family }: Question): Buffer {
  return Buffer.concat([
    words(id, recursionDesired, 1, 0, 0, 1),
    encodeName(name),
    words(typeOf(family), internet),
    // EDNS(0), RFC 6891: the root name, the type, and how much we receive.
    Buffer.of(0),
    words(types.OPT, udpBytes, 0, 0, 0),
  ]);
}

interface ParsedRecord {
  readonly owner: string;
  readonly type: number;
  readonly ttlSeconds: number;
  /** Where its data begins in the message. */
  readonly start: number;
  readonly length: number;
}

class Reader {
  readonly #bytes: Buffer;
  offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  word(): number {
    const value = this.slice(2).readUInt16BE();
    return value;
  }

  long(): number {
    return this.slice(4).readUInt32BE();
  }

  slice(length: number): Buffer {
    const end = this.offset + length;
    if (end > this.#bytes.length) throw new MalformedMessage('the message ends in the middle of a field');
    const part = this.#bytes.subarray(this.offset, end);
    this.offset = end;
    return part;
  }

  /** In lower case. A pointer leads to an earlier place, so that there are no loops. */
  nameAt(start: number): { readonly name: string; readonly end: number } {
    const labels: string[] = [];
    let [at, end, before, length] = [start, -1, start, 0];
    for (;;) {
      const first = this.#byte(at);
      if (first === 0) break;
      if (first >= 0xc0) {
        const target = ((first & 0x3f) << 8) | this.#byte(at + 1);
        if (end === -1) end = at + 2;
        if (target >= before) throw new MalformedMessage('a name is compressed by a pointer to a later place');
        [at, before] = [target, target];
        continue;
      }
      if (first > 63) throw new MalformedMessage('a label has an unknown type');
      const label = this.#bytes.subarray(at + 1, at + 1 + first);
      if (label.length < first) throw new MalformedMessage('the message ends in the middle of a name');
      length += first + 1;
      if (length > 254) throw new MalformedMessage('a name is too long');
      // A dot inside of a label would look like two labels.
      labels.push(label.toString('latin1').toLowerCase().replaceAll('.', '\\.'));
      at += first + 1;
    }
    return { name: labels.join('.'), end: end === -1 ? at + 1 : end };
  }

  name(): string {
    const { name, end } = this.nameAt(this.offset);
    this.offset = end;
    return name;
  }

  record(): ParsedRecord {
    const owner = this.name();
    const [type, kind, ttl, length] = [this.word(), this.word(), this.long(), this.word()];
    const start = this.offset;
    this.slice(length);
    // RFC 2181: a TTL with the highest bit counts as zero. The class of an OPT record is a size.
    return { owner, type: kind === internet ? type : 0, ttlSeconds: ttl >= 2 ** 31 ? 0 : ttl, start, length };
  }

  #byte(at: number): number {
    const value = this.#bytes[at];
    if (value === undefined) throw new MalformedMessage('the message ends in the middle of a name');
    return value;
  }
}

function addressText(bytes: Buffer, family: Family): string {
  return formatIp({ family, value: BigInt(`0x${bytes.toString('hex')}`) });
}

/** The end of the chain of CNAMEs that begins with a name, and the shortest TTL on the way. */
function followed(
  reader: Reader,
  records: readonly ParsedRecord[],
  name: string,
): { name: string; ttlSeconds: number } {
  const aliases = new Map(records.filter(({ type }) => type === types.CNAME).map((record) => [record.owner, record]));
  let [at, ttlSeconds] = [name, Number.POSITIVE_INFINITY];
  for (let alias = aliases.get(at); alias !== undefined; alias = aliases.get(at)) {
    // Each alias once, so that a circle ends.
    aliases.delete(at);
    at = reader.nameAt(alias.start).name;
    ttlSeconds = Math.min(ttlSeconds, alias.ttlSeconds);
  }
  return { name: at, ttlSeconds };
}

/** How long a server remembers that there is nothing (RFC 2308). */
function negativeTtl(bytes: Buffer, reader: Reader, authorities: readonly ParsedRecord[]): number | undefined {
  const soa = authorities.find(({ type, length }) => type === types.SOA && length >= 22);
  if (soa === undefined) return undefined;
  return Math.min(soa.ttlSeconds, bytes.readUInt32BE(soa.start + soa.length - 4));
}

/**
 * The answer of a message; undefined for one that does not belong to the question, and `truncated` for one that did not fit.
 * @throws MalformedMessage
 */
export function parseAnswer(bytes: Buffer, id: number, question: Question): Answer | 'truncated' | undefined {
  const reader = new Reader(bytes);
  if (bytes.length < headerBytes) return undefined;
  const [ownId, flags, questions, answers, authorities] = [
    reader.word(),
    reader.word(),
    reader.word(),
    reader.word(),
    reader.word(),
  ];
  reader.word();
  if (ownId !== id || (flags & responseBit) === 0) return undefined;
  const code = flags & 0xf;
  if (questions !== 1) {
    // A server that cannot read the question does not repeat it.
    return code in refusals && questions === 0 ? { kind: 'failed', reason: refusals[code] ?? '' } : undefined;
  }
  const isOurs = reader.name() === question.name;
  const [type, kind] = [reader.word(), reader.word()];
  if (!isOurs || type !== typeOf(question.family) || kind !== internet) return undefined;
  if (code !== 0 && code !== nameError) return { kind: 'failed', reason: refusals[code] ?? `code ${code}` };
  if ((flags & truncatedBit) !== 0) return 'truncated';
  const records = Array.from({ length: answers }, () => reader.record());
  const end = followed(reader, records, question.name);
  const size = question.family === 4 ? 4 : 16;
  const addresses = records
    .filter((record) => record.type === type && record.owner === end.name && record.length === size)
    .map(({ start, length, ttlSeconds }) => ({
      address: addressText(bytes.subarray(start, start + length), question.family),
      ttlSeconds: Math.min(ttlSeconds, end.ttlSeconds),
    }));
  if (addresses.length > 0 && code === 0) return { kind: 'addresses', addresses };
  const about = Array.from({ length: authorities }, () => reader.record());
  return { kind: 'none', exists: code === 0, ttlSeconds: negativeTtl(bytes, reader, about) };
}

/** The name that a client asks for addresses of, in lower case; undefined for any other message. Nothing of it is believed: the sender chose every byte. */
export function askedName(bytes: Buffer): string | undefined {
  if (bytes.length < headerBytes) return undefined;
  const reader = new Reader(bytes);
  const [, flags, questions] = [reader.word(), reader.word(), reader.word()];
  if ((flags & (responseBit | opcodeBits)) !== 0 || questions !== 1) return undefined;
  reader.offset = headerBytes;
  try {
    const name = reader.name();
    const [type, kind] = [reader.word(), reader.word()];
    return kind === internet && (type === types.A || type === types.AAAA) ? name : undefined;
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}
