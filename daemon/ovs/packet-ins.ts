/**
 * For `status/policy-drops.ts` and `status/asked-domains.ts`: receives copies of the packets that flows of the integration bridge send to ovn-controller, over a connection of its own: a flood delays nothing else. After a number of
 * packets it reads no more for the rest of a second. Open vSwitch then keeps a hundred of them and drops others (`do_send_packet_ins`), so that a flood costs neither side more.
 */
import type { Socket } from 'node:net';
import type { Logger } from '../../lib/run/logger.ts';
import type { PacketIn } from '../model/packet-in.ts';
import { askForPackets, messageType, showPortsOfFirstPieces, takeControllerId } from './openflow-codec.ts';
import { OpenflowConnection } from './openflow-connection.ts';
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
  readonly #connection: OpenflowConnection;
  #isUp = false;
  #inWindow = 0;
  #windowAt = -Infinity;

  constructor(options: PacketInsOptions) {
    this.#options = options;
    this.#connection = new OpenflowConnection({
      path: options.path,
      purpose: options.what ?? 'samples of dropped packets',
      retryMs,
      log: options.log,
      onUp: (socket) => {
        // Without the last message, Open vSwitch sends no packets over its socket.
        const id = options.controllerId === undefined ? [] : [takeControllerId(options.controllerId)];
        socket.write(Buffer.concat([...id, askForPackets(), showPortsOfFirstPieces()]));
        this.#isUp = true;
      },
      onMessage: (one, socket) => {
        if (one.type !== messageType.packetIn) return;
        this.#count(socket);
        options.onPacket(readPacketIn(one));
      },
      onDown: () => {
        this.#isUp = false;
      },
    });
  }

  /** Whether packets would come. */
  get isUp(): boolean {
    return this.#isUp;
  }

  close(): void {
    this.#connection.close();
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
