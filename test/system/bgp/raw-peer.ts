// A neighbour that sends arbitrary bytes: it opens the connection, keeps the session up and sends the messages of a test. socat forwards
// the connections out of the namespace, so a test that stops reading closes the TCP window.
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { eventuallyPasses } from '../../../lib/testing-eventually.ts';
import { Host } from './peer.ts';

export const messageType = { open: 1, update: 2, notification: 3, keepalive: 4 } as const;

export interface Message {
  readonly type: number;
  readonly body: Buffer;
}

/** A message with the header of RFC 4271. */
export function message(type: number, body: Buffer | readonly number[] = []): Buffer {
  const header = Buffer.alloc(19, 0xff);
  header.writeUInt16BE(19 + body.length, 16);
  header[18] = type;
  return Buffer.concat([header, Buffer.from(body)]);
}

/** An UPDATE with attributes and prefixes, both as bytes. */
export function update(attributes: readonly number[], prefixes: readonly number[]): Buffer {
  return message(messageType.update, [
    0,
    0,
    attributes.length >> 8,
    attributes.length & 255,
    ...attributes,
    ...prefixes,
  ]);
}

/** The host of raw sessions. Its buffers are small, so that the TCP window closes soon. */
export class RawHost extends Host {
  override async start(): Promise<void> {
    const { nodeV4, v4 } = this.link;
    const ends = [`UNIX-LISTEN:${this.#socket},fork,sndbuf-late=4608`, `TCP:${nodeV4}:179,bind=${v4},rcvbuf=4096`];
    await this.namespace.start(['socat', ...ends], join(this.dir, 'socat.log'));
  }

  /** Opens a connection without sending a message. */
  async connect(): Promise<RawSession> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect(this.#socket, resolve);
    socket.once('error', reject);
    await promise;
    return new RawSession(socket);
  }

  /** Establishes a session. */
  async establish(): Promise<RawSession> {
    return eventuallyPasses(
      async () => {
        const session = await this.connect();
        session.send(openMessage(this.setup.asn, this.link.v4));
        try {
          await session.untilReceived(messageType.keepalive, 1000);
        } catch (error) {
          session.close();
          throw error;
        }
        session.send(message(messageType.keepalive));
        return session;
      },
      undefined,
      200,
    );
  }

  get #socket(): string {
    return join(this.dir, 'raw.sock');
  }
}

export class RawSession {
  readonly #socket: Socket;
  #buffer = Buffer.alloc(0);
  readonly #keepalives: NodeJS.Timeout;
  readonly received: Message[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#keepalives = setInterval(() => this.send(message(messageType.keepalive)), 1000).unref();
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('close', () => clearInterval(this.#keepalives));
    socket.on('error', () => {});
  }

  /** `code/subcode` of the received NOTIFICATION. */
  get notification(): string | undefined {
    const found = this.received.find(({ type }) => type === messageType.notification);
    return found && `${found.body[0]}/${found.body[1]}`;
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  stopReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  async untilReceived(type: number, timeoutMs?: number): Promise<Message> {
    return eventuallyPasses(
      () => {
        const found = this.received.find((each) => each.type === type);
        if (!found) throw new Error(`no message of type ${type} came`);
        return found;
      },
      timeoutMs,
      10,
    );
  }

  #onData(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    while (this.#buffer.length >= 19 && this.#buffer.length >= this.#buffer.readUInt16BE(16)) {
      const length = this.#buffer.readUInt16BE(16);
      const [type = 0, body] = [this.#buffer[18], this.#buffer.subarray(19, length)];
      this.#buffer = this.#buffer.subarray(length);
      this.received.push({ type, body });
    }
  }
}

/** An OPEN with the capabilities for IPv4 unicast and four-byte AS numbers. */
function openMessage(asn: number, routerId: string): Buffer {
  const long = Buffer.alloc(4);
  long.writeUInt32BE(asn);
  const capabilities = [1, 4, 0, 1, 0, 1, 65, 4, ...long];
  const parameters = [2, capabilities.length, ...capabilities];
  const short = asn > 65535 ? 23456 : asn;
  const head = [4, short >> 8, short & 255, 0, 9, ...routerId.split('.').map(Number)];
  return message(messageType.open, [...head, parameters.length, ...parameters]);
}
