/** UDP flows: each has its own socket and source port, and sends one numbered packet per interval. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type Packet, resultOf, type UdpResult } from './report.ts';

export interface FlowOptions {
  readonly address: string;
  readonly port: number;
  readonly count: number;
  readonly intervalMs: number;
}

const tickMs = 2;

class Flow {
  readonly #socket: Socket;
  readonly #sentMs: number[] = [];
  readonly #answeredMs: (number | undefined)[] = [];
  #countedFrom = 0;
  nextMs: number;

  constructor(socket: Socket, firstMs: number) {
    this.#socket = socket;
    this.nextMs = firstMs;
    socket.on('message', (message) => (this.#answeredMs[message.readUInt32BE(0)] ??= performance.now()));
    // A destination that is unreachable for a moment is loss, which shows as a packet without an answer.
    socket.on('error', () => undefined);
  }

  get isAnswered(): boolean {
    return this.#answeredMs.some((at) => at !== undefined);
  }

  begin(): void {
    this.#countedFrom = this.#sentMs.length;
  }

  send(nowMs: number): void {
    const message = Buffer.allocUnsafe(64);
    message.writeUInt32BE(this.#sentMs.length, 0);
    this.#sentMs.push(nowMs);
    this.#answeredMs.push(undefined);
    this.#socket.send(message, () => undefined);
  }

  packets(): Packet[] {
    return this.#sentMs.map((sentMs, at) => ({ sentMs, answeredMs: this.#answeredMs[at] })).slice(this.#countedFrom);
  }
}

export class UdpFlows {
  readonly #flows: readonly Flow[];
  readonly #intervalMs: number;
  readonly #timer: NodeJS.Timeout;
  #lastTickMs = performance.now();
  #stallMs = 0;

  private constructor(flows: readonly Flow[], intervalMs: number) {
    this.#flows = flows;
    this.#intervalMs = intervalMs;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Begins to send at once. */
  static async open({ address, port, count, intervalMs }: FlowOptions): Promise<UdpFlows> {
    const sockets = Array.from({ length: count }, () => createSocket('udp4'));
    await Promise.all(
      sockets.map((socket) => {
        socket.connect(port, address);
        return once(socket, 'connect');
      }),
    );
    const now = performance.now();
    // Spread over the interval, so that the machine has no bursts.
    const flows = sockets.map((socket, at) => new Flow(socket, now + (intervalMs * at) / count));
    return new UdpFlows(flows, intervalMs);
  }

  isAnswered(): boolean {
    return this.#flows.every((flow) => flow.isAnswered);
  }

  /** Packets sent before this time do not count. */
  begin(): void {
    for (const flow of this.#flows) flow.begin();
    this.#stallMs = 0;
  }

  stopSending(): void {
    clearInterval(this.#timer);
  }

  /** The longest delay of a timer beyond its interval. */
  get stallMs(): number {
    return this.#stallMs;
  }

  results(): UdpResult[] {
    return this.#flows.map((flow) => resultOf(flow.packets(), this.#intervalMs));
  }

  #tick(): void {
    const now = performance.now();
    this.#stallMs = Math.max(this.#stallMs, now - this.#lastTickMs - tickMs);
    this.#lastTickMs = now;
    for (const flow of this.#flows) {
      if (flow.nextMs > now) continue;
      flow.send(now);
      // Packets that are overdue because this process had no CPU are skipped.
      flow.nextMs = Math.max(flow.nextMs + this.#intervalMs, now + this.#intervalMs / 2);
    }
  }
}
