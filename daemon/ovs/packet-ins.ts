/**
 * For `status/policy-drops.ts` and `status/asked-domains.ts`: receives copies of the packets that flows of the integration bridge send to ovn-controller, over a connection of its own: a flood delays nothing else. After a number of
 * packets it reads no more for the rest of a second. Open vSwitch then keeps a hundred of them and drops others (`do_send_packet_ins`), so that a flood costs neither side more.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/run/logger.ts';
import type { PacketIn } from '../model/packet-in.ts';
import {
  askForPackets,
  message,
  messageType,
  readMessages,
  showPortsOfFirstPieces,
  takeControllerId,
  type Message,
} from './openflow-codec.ts';
import { readPacketIn } from './packet-in-codec.ts';

export interface PacketInsOptions {
  /** Path of the bridge's OpenFlow socket. */
  readonly path: string;
  readonly onPacket: (packet: PacketIn) => void;
  readonly log: Pick<Logger, 'warn'>;
  /** Of which flows packets are received: those of ovn-controller by default, or those of this daemon that name the id. */
  readonly controllerId?: number;
  /** What is missing while the bridge does not answer, for the log; default `samples of dropped packets`. */
  readonly what?: string;
  /** Packets in a second; default 1,000. */
  readonly perSecond?: number;
}

const defaultPerSecond = 1000;
const retryMs = 1000;
const windowMs = 1000;

export class PacketIns {
  readonly #options: PacketInsOptions;
  readonly #stop = new AbortController();
  #socket: Socket | undefined;
  #isUp = false;
  #inWindow = 0;
  #windowAt = -Infinity;

  constructor(options: PacketInsOptions) {
    this.#options = options;
    void this.#run();
  }

  /** Whether packets would come. */
  get isUp(): boolean {
    return this.#isUp;
  }

  close(): void {
    this.#stop.abort();
    this.#socket?.destroy();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let reported: string | undefined;
    while (!signal.aborted) {
      const end = await this.#connection();
      if (signal.aborted as boolean) return;
      const { path, log, what = 'samples of dropped packets' } = this.#options;
      if (end !== reported) log.warn({ socket: path }, `${what}: ${end}; trying again`);
      reported = end;
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Runs one connection; resolves with the reason of its end. */
  #connection(): Promise<string> {
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
      this.#isUp = false;
      resolve(reason);
    });
    return promise;
  }

  #take(socket: Socket, one: Message): void {
    if (one.type === messageType.hello) {
      // Without the second message, Open vSwitch sends no packets over its socket.
      const { controllerId } = this.#options;
      const id = controllerId === undefined ? [] : [takeControllerId(controllerId)];
      socket.write(Buffer.concat([...id, askForPackets(), showPortsOfFirstPieces()]));
      this.#isUp = true;
    } else if (one.type === messageType.echoRequest) socket.write(message(messageType.echoReply, one.body, one.xid));
    else if (one.type === messageType.packetIn) {
      this.#count(socket);
      this.#options.onPacket(readPacketIn(one));
    } else if (one.type === messageType.error)
      socket.destroy(new Error(`the bridge refused, OpenFlow error ${one.body.subarray(0, 4).toString('hex')}`));
  }

  #count(socket: Socket): void {
    const now = performance.now();
    if (now - this.#windowAt >= windowMs) [this.#windowAt, this.#inWindow] = [now, 0];
    this.#inWindow += 1;
    if (this.#inWindow < (this.#options.perSecond ?? defaultPerSecond) || socket.isPaused()) return;
    socket.pause();
    setTimeout(() => socket.resume(), this.#windowAt + windowMs - now).unref();
  }
}
