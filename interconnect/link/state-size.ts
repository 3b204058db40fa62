/**
 * How much a member's state would become in memory. In: its bytes, before they are decoded. Out: why they are not to be,
 * where they are too many messages or fields: two bytes are enough for a message that takes hundreds once it is decoded.
 */
import type { Problem } from '../../lib/desired/problem.ts';

interface Size {
  readonly messages: number;
  readonly fields: number;
}

/** A million prefixes, the most that a HubMember may allow, and the other parts of a state. */
const mostOfState: Size = { messages: 1_100_000, fields: 8_000_000 };
/** Ten thousand endpoints with ten ports each, the most that a HubMember may allow for one export. */
const mostOfExports: Size = { messages: 200_000, fields: 1_000_000 };
const exportsField = 6;

/** Numbers one after the other, of a byte or more each. */
const packed = 'packed';

/** By field number, the fields of a message that are messages or packed numbers. */
interface Shape {
  readonly [field: number]: Shape | typeof packed;
}

/** MemberState of hub.proto. */
const memberState: Shape = {
  // Gateways with encaps with options.
  2: { 3: { 3: {} } },
  // Attachments with prefixes, ends and held ports.
  3: { 4: {}, 5: {}, 6: {} },
  // Exports with ports, IP families, labels, annotations and endpoints, which have ports.
  6: { 4: { 5: {}, 9: packed, 10: {}, 11: {}, 13: { 7: {} } } },
};

/** Returns undefined if the state may be decoded. Bytes that are no message are left to the decoder. */
export function refuseOversized(bytes: Uint8Array): Problem | undefined {
  const count: Count = { messages: 0, fields: 0, most: mostOfState };
  countIn(bytes, { at: 0, end: bytes.length }, memberState, count);
  if (!isExceeded(count)) return undefined;
  const { most } = count;
  const message =
    most === mostOfExports
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
}

function isExceeded({ messages, fields, most }: Count): boolean {
  return messages > most.messages || fields > most.fields;
}

function countIn(bytes: Uint8Array, range: Range, shape: Shape, count: Count): void {
  while (range.at < range.end && !isExceeded(count)) {
    const tag = readVarint(bytes, range);
    count.fields += 1;
    const kind = tag & 7;
    if (kind === 0) readVarint(bytes, range);
    else if (kind === 1) range.at += 8;
    else if (kind === 5) range.at += 4;
    else if (kind !== 2) return;
    else {
      const end = readVarint(bytes, range) + range.at;
      const inner = shape[tag >>> 3];
      if (shape === memberState && tag >>> 3 === exportsField) count.most = mostOfExports;
      if (inner === packed) count.fields += Math.min(end, range.end) - range.at;
      else if (inner !== undefined) {
        count.messages += 1;
        countIn(bytes, { at: range.at, end: Math.min(end, range.end) }, inner, count);
      }
      range.at = end;
    }
  }
}

/** The low 32 bits, which is all that tags and lengths have. */
function readVarint(bytes: Uint8Array, range: Range): number {
  let value = 0;
  for (let shift = 0; range.at < range.end; shift += 7) {
    const byte = bytes[range.at++] ?? 0;
    if (shift < 32) value |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return value >>> 0;
}
