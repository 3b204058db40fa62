/** TCP connections that send a small message each interval and want it back. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TcpResult } from './report.ts';
import type { FlowOptions } from './udp.ts';

class Connection {
  readonly #socket: Socket;
  #lastMs = performance.now();
  #gapMs = 0;
  #isReset = false;
  #isOver = false;
  isAnswered = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', () => {
      this.isAnswered = true;
      this.#note();
    });
    const end = (): void => {
      this.#isReset ||= !this.#isOver;
    };
    socket.on('error', end).on('close', end);
  }

  begin(): void {
    this.#gapMs = 0;
    this.#lastMs = performance.now();
  }

  send(): void {
    if (!this.#isReset) this.#socket.write('0123456789abcdef');
  }

  finish(): TcpResult {
    this.#isOver = true;
    return { gapMs: this.#gapMs, isReset: this.#isReset };
  }

  /** Also the time since the last answer counts. */
  stopSending(): void {
    this.#note();
  }

  #note(): void {
    const now = performance.now();
    this.#gapMs = Math.max(this.#gapMs, now - this.#lastMs);
    this.#lastMs = now;
  }
}

export class TcpFlows {
  readonly #connections: readonly Connection[];
  readonly #timer: NodeJS.Timeout;

  private constructor(connections: readonly Connection[], intervalMs: number) {
    this.#connections = connections;
    this.#timer = setInterval(() => connections.forEach((connection) => connection.send()), intervalMs);
  }

  /** @throws Error if a connection cannot be made. */
  static async open({ address, port, count, intervalMs }: FlowOptions): Promise<TcpFlows> {
    const sockets = Array.from({ length: count }, () => connect({ port, host: address }));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    return new TcpFlows(
      sockets.map((socket) => new Connection(socket)),
      intervalMs,
    );
  }

  isAnswered(): boolean {
    return this.#connections.every((connection) => connection.isAnswered);
  }

  begin(): void {
    for (const connection of this.#connections) connection.begin();
  }

  stopSending(): void {
    clearInterval(this.#timer);
    for (const connection of this.#connections) connection.stopSending();
  }

  results(): TcpResult[] {
    return this.#connections.map((connection) => connection.finish());
  }
}
