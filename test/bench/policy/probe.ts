/**
 * One end of datagrams between pods, as a process of its own in a network namespace. It answers each datagram to its ports (arguments) with the same bytes,
 * and counts those that arrive. A line of its input is a ProbeRequest, a line of its output a ProbeLine. Times are milliseconds of the machine's monotonic
 * clock, which all processes share.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

export interface ProbeFlow {
  readonly address: string;
  readonly port: number;
  /** Each datagram from a port of its own, so that each begins a connection. */
  readonly isFresh?: boolean;
}

/** `begin` sends a datagram of each flow in every interval until `end`; `arrivals` asks for what has arrived so far. */
export type ProbeRequest =
  | { readonly begin: number; readonly flows: readonly ProbeFlow[]; readonly everyMs: number }
  | { readonly end: number }
  | { readonly arrivals: true };

export interface FlowAnswers {
  readonly sent: number;
  readonly answered: number;
  /** When the first datagram was sent that was answered, and when its answer came. */
  readonly first?: { readonly sentMs: number; readonly answeredMs: number };
  /** When the ones without an answer were sent. */
  readonly missedMs: readonly number[];
}

export type ProbeLine =
  | { readonly ready: true }
  /** The first answer of a flow. */
  | { readonly first: number; readonly flow: number; readonly atMs: number }
  | { readonly ended: number; readonly flows: readonly FlowAnswers[] }
  /** By `SOURCE PORT`. */
  | { readonly arrivals: Readonly<Record<string, Arrivals>> };

export interface Arrivals {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** An answer that takes longer counts as missing. */
const graceMs = 1000;
/** Of datagrams that are overdue because this process had no CPU, only so many are sent at once. */
const mostOverdue = 5;
const messageSize = 16;
/** A burst of a second fits in. */
const bufferBytes = 1 << 20;

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const print = (line: ProbeLine): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

async function openSocket(port: number): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: bufferBytes });
  // An unreachable destination shows as a datagram without an answer.
  socket.on('error', () => undefined);
  socket.bind(port);
  await once(socket, 'listening');
  return socket;
}

class Run {
  readonly #id: number;
  readonly #flows: readonly ProbeFlow[];
  readonly #everyMs: number;
  readonly #sentMs: number[][];
  readonly #answeredMs: (number | undefined)[][];
  readonly #firsts: (FlowAnswers['first'] | undefined)[];
  readonly #sockets: (Socket | undefined)[];
  #timer: NodeJS.Timeout | undefined;

  constructor({ begin, flows, everyMs }: Extract<ProbeRequest, { begin: number }>) {
    this.#id = begin;
    this.#flows = flows;
    this.#everyMs = everyMs;
    this.#sentMs = flows.map(() => []);
    this.#answeredMs = flows.map(() => []);
    this.#firsts = flows.map(() => undefined);
    this.#sockets = flows.map(() => undefined);
  }

  async begin(): Promise<void> {
    for (const [at, { isFresh }] of this.#flows.entries()) {
      if (isFresh === true) continue;
      const socket = await openSocket(0);
      socket.on('message', (message) => this.#answered(at, message));
      this.#sockets[at] = socket;
    }
    let due = nowMs();
    this.#timer = setInterval(() => {
      const now = nowMs();
      due = Math.max(due, now - mostOverdue * this.#everyMs);
      for (; due <= now; due += this.#everyMs) for (const at of this.#flows.keys()) this.#send(at);
    }, 1);
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await pause(graceMs);
    for (const socket of this.#sockets) socket?.close();
    const flows = this.#flows.map((_, at): FlowAnswers => {
      const [sent, answers, first] = [this.#sentMs[at] ?? [], this.#answeredMs[at] ?? [], this.#firsts[at]];
      const missedMs = sent.filter((_ms, seq) => answers[seq] === undefined);
      const answered = sent.length - missedMs.length;
      return { sent: sent.length, answered, missedMs, ...(first !== undefined && { first }) };
    });
    print({ ended: this.#id, flows });
  }

  #send(at: number): void {
    const { address, port } = this.#flows[at] ?? { address: '', port: 0 };
    const sent = this.#sentMs[at] ?? [];
    const message = Buffer.alloc(messageSize);
    message.writeUInt32BE(this.#id, 0);
    message.writeUInt32BE(sent.length, 4);
    sent.push(nowMs());
    (this.#sockets[at] ?? this.#fresh(at)).send(message, port, address, () => undefined);
  }

  /** A socket for one datagram and its answer. */
  #fresh(at: number): Socket {
    const socket = createSocket('udp4');
    const timer = setTimeout(() => socket.close(), graceMs);
    socket
      .on('error', () => undefined)
      .on('message', (message) => {
        this.#answered(at, message);
        clearTimeout(timer);
        socket.close();
      });
    return socket;
  }

  #answered(at: number, message: Buffer): void {
    const answeredMs = nowMs();
    const seq = message.readUInt32BE(4);
    const answers = this.#answeredMs[at];
    if (answers === undefined || message.readUInt32BE(0) !== this.#id) return;
    answers[seq] ??= answeredMs;
    if (this.#firsts[at] !== undefined) return;
    this.#firsts[at] = { sentMs: this.#sentMs[at]?.[seq] ?? Number.NaN, answeredMs };
    print({ first: this.#id, flow: at, atMs: answeredMs });
  }
}

const arrivals: Record<string, Arrivals> = {};

async function serve(port: number): Promise<void> {
  const socket = await openSocket(port);
  socket.on('message', (message, from) => {
    const key = `${from.address} ${String(port)}`;
    const [lastMs, before] = [nowMs(), arrivals[key]];
    arrivals[key] = { count: (before?.count ?? 0) + 1, firstMs: before?.firstMs ?? lastMs, lastMs };
    socket.send(message, from.port, from.address, () => undefined);
  });
}

for (const port of process.argv.slice(2)) await serve(Number(port));
const runs = new Map<number, Run>();
print({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as ProbeRequest;
  if ('begin' in request) {
    const run = new Run(request);
    runs.set(request.begin, run);
    await run.begin();
  } else if ('end' in request) {
    const run = runs.get(request.end);
    runs.delete(request.end);
    void run?.end();
  } else print({ arrivals });
}
process.exit();
