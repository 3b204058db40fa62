/**
 * A connection to the OpenFlow socket of a bridge, opened again whenever it ends. Open vSwitch makes the socket together with the bridge, and
 * makes both again when it starts. Greetings, keep-alives and errors are answered here.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/run/logger.ts';
import { message, messageType, readMessages, type Message } from './openflow-codec.ts';

export interface OpenflowConnectionOptions {
  /** Path of the bridge's OpenFlow socket. */
  readonly path: string;
  /** What the connection is for, in a warning. */
  readonly purpose: string;
  /** Pause before the next attempt, in milliseconds. */
  readonly retryMs: number;
  readonly log: Pick<Logger, 'warn'>;
  /** Called once for each connection, when the bridge has greeted. */
  readonly onUp: (socket: Socket) => void;
  /** Called with each message other than greetings, keep-alives and errors. May throw a RangeError for one that it cannot read. */
  readonly onMessage: (one: Message, socket: Socket) => void;
  /** Called at the end of each connection, and after each failed attempt. */
  readonly onDown: () => void;
}

export class OpenflowConnection {
  readonly #options: OpenflowConnectionOptions;
  readonly #stop = new AbortController();
  #socket: Socket | undefined;

  constructor(options: OpenflowConnectionOptions) {
    this.#options = options;
    void this.#run();
  }

  close(): void {
    this.#stop.abort();
    this.#socket?.destroy();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { path, purpose, retryMs, log } = this.#options;
    let reported: string | undefined;
    while (!signal.aborted) {
      const end = await this.#attempt();
      if (signal.aborted as boolean) return;
      if (end !== reported) log.warn({ socket: path }, `${purpose}: ${end}; trying again`);
      reported = end;
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Runs one connection; resolves with the reason of its end. */
  #attempt(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const socket = connect(this.#options.path);
    this.#socket = socket;
    let bytes: Buffer = Buffer.alloc(0);
    let reason = 'the connection to the bridge ended';
    socket.on('connect', () => socket.write(message(messageType.hello)));
    socket.on('data', (chunk: Buffer) => {
      try {
        const { messages, rest } = readMessages(bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]));
        bytes = rest;
        for (const one of messages) this.#take(socket, one);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        socket.destroy(error);
      }
    });
    socket.on('error', (error) => {
      reason = error.message;
    });
    socket.on('close', () => {
      this.#options.onDown();
      resolve(reason);
    });
    return promise;
  }

  #take(socket: Socket, one: Message): void {
    if (one.type === messageType.hello) this.#options.onUp(socket);
    else if (one.type === messageType.echoRequest) socket.write(message(messageType.echoReply, one.body, one.xid));
    else if (one.type === messageType.error)
      socket.destroy(new Error(`the bridge refused, OpenFlow error ${one.body.subarray(0, 4).toString('hex')}`));
    else this.#options.onMessage(one, socket);
  }
}
