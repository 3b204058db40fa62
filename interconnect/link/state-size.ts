/**
 * How much a member's state would become in memory. In: its bytes, before they are decoded. Out: why they are not to be,
 * where they are too many messages or fields: two bytes are enough for a message that takes hundreds once it is decoded. Bytes
 * that the decoder would read otherwise than this file counts them are refused too.
 */
import type { Problem } from '../../lib/desired/problem.ts';

interface Size {
  readonly messages: number;
  readonly fields: number;
}

/** A million prefixes, the most that a HubMember may allow, and the other parts of a state. */
const mostOfState: Size = { messages: 1_100_000, fields: 8_000_000 };
/** More than the protocol allows, so that a member of a later release may list more. */
const mostOfPaths: Size = { messages: 2000, fields: 20_000 };
/** Ten thousand endpoints with ten ports each, the most that a HubMember may allow for one export. */
const mostOfExports: Size = { messages: 200_000, fields: 1_000_000 };
/** A hundred thousand addresses, removed and added, and a thousand sets. */
const mostOfPods: Size = { messages: 2000, fields: 250_000 };

/** Bytes of a varint. */
const short = 5;
const long = 10;

/** Strings; numbers of 32 bits and booleans; numbers of 64 bits; and numbers one after the other, of a byte or more each. */
type Scalar = 'text' | 'number' | 'long' | 'packed';

/** By field number, all fields of a message: the decoder reads a field as what it is declared, whatever its wire type. */
interface Shape {
  readonly [field: number]: Shape | Scalar;
}

const [text, number] = ['text', 'number'] as const;
const map: Shape = { 1: text, 2: text };
const encap: Shape = { 1: text, 2: text, 3: map };
const wireGuard: Shape = { 1: text, 2: text, 3: text, 4: text };
const acceptedKey: Shape = { 1: text, 2: text };
const gateway: Shape = { 1: text, 2: text, 3: encap, 4: wireGuard };
const encryption: Shape = { 1: text, 2: map };
const prefix: Shape = { 1: text, 2: text, 3: text, 4: text, 5: text, 6: text };
const pathEnd: Shape = { 1: number, 2: text, 3: text, 4: number };
const heldPort: Shape = { 1: text, 2: text, 3: text, 4: number };
const attachment: Shape = {
  1: text,
  2: text,
  3: text,
  4: prefix,
  5: pathEnd,
  6: heldPort,
  7: text,
  8: number,
  9: text,
};
const exportedPort: Shape = { 1: text, 2: text, 3: number, 4: text };
const endpointPort: Shape = { 1: text, 2: text, 3: number };
const endpoint: Shape = { 1: text, 2: text, 3: text, 4: text, 5: number, 6: number, 7: endpointPort };
const sharedClaim: Shape = { 1: text, 2: text, 3: text, 4: text, 5: text, 6: 'long' };
const exported: Shape = {
  1: text,
  2: text,
  3: 'long',
  4: text,
  5: exportedPort,
  6: number,
  7: number,
  8: text,
  9: 'packed',
  10: map,
  11: map,
  12: number,
  13: endpoint,
  14: text,
  15: sharedClaim,
};
const exportReport: Shape = { 1: 'long', 2: number, 3: number, 4: exported, 5: text, 6: text, 7: text };
const wantedSet: Shape = { 1: text, 2: text, 3: text };
const podSetChange: Shape = { 1: text, 2: number, 3: text, 4: text, 5: text };
const podReport: Shape = { 1: 'long', 2: { 1: wantedSet }, 3: podSetChange };

const pathSummary: Shape = { 1: text, 2: number, 3: number, 4: text, 5: text, 6: 'long', 7: text };
const pathReport: Shape = { 1: text, 2: number, 3: number, 4: pathSummary };

/** MemberState of hub.proto; for tests. */
export const memberState: Shape = {
  1: 'long',
  2: gateway,
  3: attachment,
  4: text,
  5: number,
  6: exportReport,
  7: podReport,
  8: number,
  9: pathReport,
  10: encryption,
  11: acceptedKey,
  12: number,
};

const malformed: Problem = {
  code: 'StateInvalid',
  message: 'the state of this cluster is no message of the protocol; run a release of Isthmus in this cluster',
};

/** Returns undefined if the state may be decoded. Bytes that the decoder would read otherwise than they are counted may not. */
export function refuseOversized(bytes: Uint8Array): Problem | undefined {
  const count: Count = { messages: 0, fields: 0, most: mostOfState, isMalformed: false };
  countIn(bytes, { at: 0, end: bytes.length }, memberState, count);
  if (count.isMalformed) return malformed;
  if (!isExceeded(count)) return undefined;
  const { most } = count;
  if (most === mostOfPods) {
    const pods = `a report of pods that other clusters want has more than ${most.messages} sets, or ${most.fields} addresses in them`;
    return { code: 'StateTooLarge', message: pods };
  }
  const message =
    most === mostOfPaths
      ? `a report of paths has more than ${most.messages} parts; run a release of Isthmus in this cluster that lists fewer`
      : most === mostOfExports
        ? `a report of exported Services has more than ${most.messages} endpoints and other parts, or ${most.fields} fields in them; export fewer Services or endpoints`
        : `the state of this cluster has more than ${most.messages} prefixes and other parts, or ${most.fields} fields in them; reduce the number of prefixes that it offers`;
  return { code: 'StateTooLarge', message };
}

interface Range {
  at: number;
  readonly end: number;
}

interface Count {
  messages: number;
  fields: number;
  most: Size;
  isMalformed: boolean;
}

function isExceeded({ messages, fields, most }: Count): boolean {
  return messages > most.messages || fields > most.fields;
}

function countIn(bytes: Uint8Array, range: Range, shape: Shape, count: Count): void {
  while (range.at < range.end && !count.isMalformed && !isExceeded(count)) {
    const tag = readVarint(bytes, range, short, count);
    count.fields += 1;
    const [field, kind] = [tag >>> 3, tag & 7];
    const inner = shape[field];
    if (!isOfKind(inner, kind)) count.isMalformed = true;
    else if (kind === 0) readVarint(bytes, range, inner === undefined || inner === 'long' ? long : short, count);
    else if (kind === 1) range.at += 8;
    else if (kind === 5) range.at += 4;
    else {
      const end = readVarint(bytes, range, short, count) + range.at;
      const part = { at: range.at, end: Math.min(end, range.end) };
      if (inner === exportReport) count.most = mostOfExports;
      else if (inner === podReport) count.most = mostOfPods;
      else if (inner === pathReport) count.most = mostOfPaths;
      if (inner === 'packed') count.fields += part.end - part.at;
      else if (typeof inner === 'object') {
        count.messages += 1;
        countIn(bytes, part, inner, count);
      }
      range.at = end;
    }
  }
}

/** No field of a known number has another wire type, and an unknown one is of those that have a length. */
function isOfKind(field: Shape | Scalar | undefined, kind: number): boolean {
  if (field === undefined) return kind === 0 || kind === 1 || kind === 2 || kind === 5;
  if (field === 'packed') return kind === 0 || kind === 2;
  return kind === (field === 'number' || field === 'long' ? 0 : 2);
}

/** The low 32 bits, which is all that tags and lengths have. */
function readVarint(bytes: Uint8Array, range: Range, most: number, count: Count): number {
  let value = 0;
  for (let length = 0; length < most && range.at < range.end; length += 1) {
    const byte = bytes[range.at++] ?? 0;
    if (length < short) value |= (byte & 127) << (7 * length);
    if (byte < 128) return value >>> 0;
  }
  count.isMalformed = true;
  return 0;
}
