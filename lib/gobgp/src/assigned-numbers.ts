// Numbers that an administrator assigns within its own space. Route distinguishers (RFC 4364 §4.2) and route targets (RFC 4360 §4, RFC
// 5668) have the same three forms, and the same six bytes after their type.
import { isIPv4 } from 'node:net';
import { addressBytes, addressText } from './address.ts';
import { GobgpInvalidArgument } from './errors.ts';

export interface AssignedNumber {
  /** The administrator: 0 an AS of 2 bytes, 1 the owner of an IPv4 address, 2 an AS of 4 bytes. */
  readonly form: 0 | 1 | 2;
  /** AS number, or address as a number. */
  readonly assigner: number;
  /** 32 bits behind an AS of 2 bytes, else 16. */
  readonly number: number;
}

/**
 * `asn:number`, `high.low:number` for an AS of 4 bytes whatever its value, `address:number`.
 * @param what the kind of number, for the error
 * @throws GobgpInvalidArgument
 */
export function parseAssigned(text: string, what: string): AssignedNumber {
  const [, assigner = '', digits = ''] = /^([\d.]+):(\d{1,10})$/.exec(text) ?? [];
  const number = Number(digits);
  const who = parseAssigner(assigner);
  if (!who || number > (who.form === 0 ? 0xffffffff : 0xffff))
    throw new GobgpInvalidArgument(
      `'${text}' is not a ${what}: a 2-byte AS and 32 bits, or a 4-byte AS or IPv4 address and 16 bits, as 65000:100`,
    );
  return { ...who, number };
}

/** The canonical form of a number. */
export function assignedText({ form, assigner, number }: AssignedNumber): string {
  if (form === 1) return `${addressText(wordBytes(assigner))}:${number}`;
  // Without the dot it would read as an AS of 2 bytes.
  const isSmall = form === 2 && assigner <= 0xffff;
  return `${isSmall ? '0.' : ''}${assigner}:${number}`;
}

/** The eight bytes of a number behind the two of its type. */
export function assignedBytes({ form, assigner, number }: AssignedNumber, type: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16BE(type, 0);
  if (form === 0) {
    bytes.writeUInt16BE(assigner, 2);
    bytes.writeUInt32BE(number, 4);
  } else {
    bytes.writeUInt32BE(assigner, 2);
    bytes.writeUInt16BE(number, 6);
  }
  return bytes;
}

/** The number in eight bytes; undefined if there is no such form. */
export function assignedOfBytes(form: number, bytes: Uint8Array): AssignedNumber | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (form === 0) return { form, assigner: view.getUint16(2), number: view.getUint32(4) };
  if (form === 1 || form === 2) return { form, assigner: view.getUint32(2), number: view.getUint16(6) };
  return undefined;
}

/** Of an address as text. */
export function assignedByAddress(address: string, number: number): AssignedNumber {
  return { form: 1, assigner: wordOf(address), number };
}

function parseAssigner(text: string): Pick<AssignedNumber, 'form' | 'assigner'> | undefined {
  if (isIPv4(text)) return { form: 1, assigner: wordOf(text) };
  const [, high, low] = /^(?:(\d{1,5})\.)?(\d{1,10})$/.exec(text) ?? [];
  if (low === undefined) return undefined;
  const assigner = Number(high ?? 0) * 0x10000 + Number(low);
  if (assigner > 0xffffffff || (high !== undefined && Number(low) > 0xffff)) return undefined;
  return { form: high === undefined && assigner <= 0xffff ? 0 : 2, assigner };
}

function wordOf(address: string): number {
  return Buffer.from(addressBytes(address)).readUInt32BE();
}

function wordBytes(word: number): Uint8Array {
  return Uint8Array.of(word >>> 24, word >>> 16, word >>> 8, word);
}
