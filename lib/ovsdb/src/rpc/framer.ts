import { OvsdbProtocolError } from '../errors.ts';

const space = 0x20;
const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Cuts a byte stream into JSON objects. JSON-RPC over OVSDB has no delimiter: a message ends where its braces
 * close. Bytes suffice to see that, as no byte of a multi-byte UTF-8 character looks like ASCII.
 */
export class Framer {
  #parts: Buffer[] = [];
  #depth = 0;
  #inString = false;
  #escaped = false;

  /** The messages that end in this chunk, in order. @throws OvsdbProtocolError: nothing more can be read then. */
  *push(chunk: Buffer): Generator<unknown, void> {
    let start = 0;
    for (;;) {
      const end = this.#scan(chunk, start);
      if (end < 0) break;
      yield this.#take(chunk.subarray(start, end));
      start = end;
    }
    if (this.#depth > 0) this.#parts.push(chunk.subarray(start));
  }

  /** The index after the message that ends next, or -1. State is kept in locals meanwhile: every byte comes by here. */
  #scan(chunk: Buffer, start: number): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let end = -1;
    for (let at = start; at < chunk.length && end < 0; at++) {
      const byte = chunk[at] as number;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
      } else if (byte === openBrace || byte === openBracket) depth++;
      else if (depth === 0) {
        if (byte > space) throw new OvsdbProtocolError(`byte 0x${byte.toString(16)} between messages`);
      } else if (byte === quote) inString = true;
      else if (byte === closeBrace || byte === closeBracket) {
        depth--;
        if (depth === 0) end = at + 1;
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
    return end;
  }

  #take(last: Buffer): unknown {
    const whole = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    try {
      return JSON.parse(whole.toString('utf8'));
    } catch (cause) {
      throw new OvsdbProtocolError('a message is not JSON', { cause });
    }
  }
}
