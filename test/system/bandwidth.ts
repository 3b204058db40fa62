/**
 * How much of a stream arrives between two network namespaces. Run as a program, this file is one of the two ends: `sink PROTOCOL PORT`, which prints the
 * bytes that came so far each time it reads a line, or `send PROTOCOL ADDRESS PORT MBIT`, which sends until its standard input ends.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { letGo } from '../lab/run.ts';

type Protocol = 'TCP' | 'UDP';

export interface Stream {
  readonly protocol: Protocol;
  /** Network namespaces. */
  readonly from: string;
  readonly to: string;
  readonly address: string;
  /** Where it is sent to, and where it arrives. */
  readonly port: number;
  readonly sinkPort: number;
  /** What a UDP sender offers, in Mbit/s; TCP sends as fast as it can. */
  readonly offered: number;
}

/** The bytes of a datagram with its headers of IP and UDP, and the bytes without. */
const [datagram, payload] = [1228, 1200];
/** Bytes of a full TCP segment in a pod, with and without its headers of IP and TCP. */
const [segment, content] = [1400, 1348];
/** Between two bunches of datagrams. */
const tickMs = 5;
const bytesPerMbit = 125_000;
const here = import.meta.filename;

/** Mbit/s of packets of IP that arrive, over some seconds once the burst is over. */
export async function measure(stream: Stream, { settleMs = 1500, seconds = 3 } = {}): Promise<number> {
  const { protocol, from, to, address, port, sinkPort, offered } = stream;
  const sink = startEnd(to, ['sink', protocol, String(sinkPort)]);
  const lines = createInterface({ input: sink.stdout as Readable })[Symbol.asyncIterator]();
  const counted = async (): Promise<number> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the sink in ${to} ended`);
    return Number(value);
  };
  const ask = async (): Promise<number> => {
    (sink.stdin as Writable).write('\n');
    return counted();
  };
  await counted();
  const sender = startEnd(from, ['send', protocol, address, String(port), String(offered)]);
  await sleep(settleMs);
  const [before, startedMs] = [await ask(), performance.now()];
  await sleep(seconds * 1000);
  const [after, endedMs] = [await ask(), performance.now()];
  for (const end of [sender, sink]) {
    end.kill('SIGKILL');
    await once(end, 'exit');
  }
  const packets = (after - before) * (protocol === 'UDP' ? datagram / payload : segment / content);
  return packets / bytesPerMbit / ((endedMs - startedMs) / 1000);
}

function startEnd(namespace: string, argv: readonly string[]): ChildProcess {
  const command = ['--pdeathsig', 'KILL', '--', 'ip', 'netns', 'exec', namespace, process.execPath, here, ...argv];
  const child = spawn('setpriv', command, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  letGo(child.pid ?? 0, 'first');
  return child;
}

function sink(protocol: Protocol, port: number): void {
  let bytes = 0;
  const tell = (): boolean => process.stdout.write(`${bytes}\n`);
  createInterface({ input: process.stdin }).on('line', tell);
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
  };
  if (protocol === 'UDP')
    createSocket({ type: 'udp4', recvBufferSize: 1 << 20 })
      .on('message', count)
      .bind(port, tell);
  else createServer((socket) => socket.on('data', count).on('error', () => undefined)).listen(port, '0.0.0.0', tell);
}

function send(protocol: Protocol, address: string, port: number, mbit: number): void {
  if (protocol === 'TCP') {
    const socket = connect(port, address);
    const chunk = Buffer.alloc(1 << 16);
    const more = (): void => {
      while (socket.write(chunk));
    };
    socket.on('connect', more).on('drain', more);
    return;
  }
  const socket = createSocket('udp4').on('error', () => undefined);
  const chunk = Buffer.alloc(payload);
  const startedMs = performance.now();
  let sent = 0;
  setInterval(() => {
    const due = ((performance.now() - startedMs) / 1000) * mbit * bytesPerMbit;
    for (; sent < due; sent += datagram) socket.send(chunk, port, address);
  }, tickMs);
}

if (process.argv[1] === here) {
  const [role, protocol = '', ...rest] = process.argv.slice(2);
  const kind = protocol === 'UDP' ? 'UDP' : 'TCP';
  if (role === 'sink') sink(kind, Number(rest[0]));
  else send(kind, rest[0] ?? '', Number(rest[1]), Number(rest[2]));
}
