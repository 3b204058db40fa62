/** Messages of a WebSocket (RFC 6455), as a client reads them. In: bytes of a server. Out: messages. Pure. */

export interface Message {
  readonly kind: 'data' | 'ping' | 'close';
  readonly payload: Buffer;
}

const opcodes = { continuation: 0, close: 8, ping: 9, pong: 10 } as const;
const final = 0x80;
const masked = 0x80;

export class FrameReader {
  readonly #most: number;
  #rest: Buffer = Buffer.alloc(0);
  /** Of a message in several frames. */
  #parts: Buffer[] = [];

  /** @param most largest frame and largest message, in bytes */
  constructor(most: number) {
    this.#most = most;
  }

  /** The messages that end in these bytes. @throws RangeError for what a server must not send */
  *read(chunk: Buffer): Generator<Message> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const frame = this.#next();
      if (frame === undefined) return;
      const { opcode, isFinal, payload } = frame;
      if (opcode === opcodes.close) yield { kind: 'close', payload };
      else if (opcode === opcodes.ping) yield { kind: 'ping', payload };
      else if (opcode !== opcodes.pong) yield* this.#part(payload, isFinal);
    }
  }

  *#part(payload: Buffer, isFinal: boolean): Generator<Message> {
    this.#parts.push(payload);
    if (this.#parts.reduce((sum, part) => sum + part.length, 0) > this.#most)
      throw new RangeError('a message is too long');
    if (!isFinal) return;
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    yield { kind: 'data', payload: whole };
  }

  /** The next whole frame, which is taken off the rest. */
  #next(): { readonly opcode: number; readonly isFinal: boolean; readonly payload: Buffer } | undefined {
    const [first, second] = this.#rest;
    if (first === undefined || second === undefined) return undefined;
    if ((second & masked) !== 0) throw new RangeError('a server must not mask what it sends');
    const short = second & 0x7f;
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
    const start = 2 + extra;
    if (this.#rest.length < start) return undefined;
    const length =
      extra === 0 ? short : Number(extra === 2 ? this.#rest.readUInt16BE(2) : this.#rest.readBigUInt64BE(2));
    if (length > this.#most) throw new RangeError('a frame is too long');
    if (this.#rest.length < start + length) return undefined;
    const payload = this.#rest.subarray(start, start + length);
    this.#rest = this.#rest.subarray(start + length);
    return { opcode: first & 0x0f, isFinal: (first & final) !== 0, payload };
  }
}

/** With a mask of zeros, which leaves the payload as it is: frames of a client have a mask. */
function controlFrame(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([final | opcode, masked | payload.length, 0, 0, 0, 0]), payload]);
}

export function pongFrame(payload: Buffer): Buffer {
  return controlFrame(opcodes.pong, payload.subarray(0, 125));
}

export function closeFrame(): Buffer {
  return controlFrame(opcodes.close, Buffer.from([0x03, 0xe8]));
}
