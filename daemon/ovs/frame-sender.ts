/** Sends frames by ports of the integration bridge, past all flows of it. */
import type { Socket } from 'node:net';
import type { Logger } from '../../lib/run/logger.ts';
import { packetOut } from './openflow-codec.ts';
import { OpenflowConnection } from './openflow-connection.ts';

export interface FrameSenderOptions {
  /** Path of the bridge's OpenFlow socket. */
  readonly path: string;
  readonly log: Pick<Logger, 'warn'>;
  /** Called when frames can be sent again. */
  readonly onUp: () => void;
}

const retryMs = 100;

export class FrameSender {
  readonly #connection: OpenflowConnection;
  #socket: Socket | undefined;

  constructor({ path, log, onUp }: FrameSenderOptions) {
    this.#connection = new OpenflowConnection({
      path,
      purpose: 'announcements of addresses of gateway ports',
      retryMs,
      log,
      onUp: (socket) => {
        this.#socket = socket;
        onUp();
      },
      onMessage: () => undefined,
      onDown: () => {
        this.#socket = undefined;
      },
    });
  }

  /** Whether the bridge is there. */
  get isUp(): boolean {
    return this.#socket !== undefined;
  }

  /** @param outPort OpenFlow number of the port */
  send(outPort: number, frames: readonly Buffer[]): void {
    this.#socket?.write(Buffer.concat(frames.map((frame) => packetOut(outPort, frame))));
  }

  close(): void {
    this.#connection.close();
  }
}
