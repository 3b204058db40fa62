/**
 * Many UDP flows between two network namespaces, and the longest time in which one of them had no answers. Run as a program it
 * is one of the two ends: `echo PORT`, or `send ADDRESS PORT FLOWS INTERVAL_MS`, which sends until its standard input ends.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { letGo } from '../lab/run.ts';

/** How late the last answers may be. */
const graceMs = 1000;
const here = import.meta.filename;

export interface FlowResult {
  readonly sent: number;
  readonly received: number;
  /** Of each flow what it lost at a stretch, in milliseconds, the longest first; packets that were late are not lost. */
  readonly gapsMs: readonly number[];
  /** By how much its timer was late at most, in milliseconds: so long the machine held up the sender itself. */
  readonly stallMs: number;
  /** When the first and the last packet that had no answer left, in Unix milliseconds. */
  readonly lostAtMs: readonly number[];
}

/** Answers from now on: its port is bound. */
export async function startEcho(namespace: string, port: number): Promise<ChildProcess> {
  const child = startEnd(namespace, ['echo', String(port)], ['ignore', 'pipe', 'inherit']);
  const output = child.stdout as Readable;
  const [said] = await Promise.race([once(output, 'data'), once(child, 'exit')]);
  if (!(said instanceof Buffer)) throw new Error(`the echo in ${namespace} ended with ${String(said)}`);
  return child;
}

/** Sends from now on. @returns ends it, and gives what came of it */
export function sendFlows(
  namespace: string,
  { address, port, flows, intervalMs }: Readonly<Record<'port' | 'flows' | 'intervalMs', number>> & { address: string },
): () => Promise<FlowResult> {
  const argv = [address, port, flows, intervalMs].map(String);
  const child = startEnd(namespace, ['send', ...argv], ['pipe', 'pipe', 'inherit']);
  const told = text(child.stdout as Readable);
  // A test that fails never ends its flows: they must not keep the runner from ending.
  const pipes = [child.stdin as Socket, child.stdout as Socket];
  for (const each of [child, ...pipes]) each.unref();
  return async () => {
    for (const pipe of pipes) pipe.ref();
    child.stdin?.end();
    return JSON.parse(await told) as FlowResult;
  };
}

/** It goes before others, as what it measures does, and ends with the test. */
function startEnd(namespace: string, argv: readonly string[], stdio: StdioOptions): ChildProcess {
  const command = ['--pdeathsig', 'KILL', '--', 'ip', 'netns', 'exec', namespace, process.execPath, here, ...argv];
  const child = spawn('setpriv', command, { stdio, detached: true });
  letGo(child.pid ?? 0, 'first');
  return child;
}

function echo(port: number): void {
  const socket = createSocket('udp4');
  // An answer that cannot leave is lost as one on the way is; without the function its error would end the program.
  socket.on('message', (message, { address, port: from }) => socket.send(message, from, address, () => undefined));
  socket.bind(port, () => process.stdout.write('bound\n'));
}

interface Sent {
  /** Unix milliseconds. */
  readonly atMs: number;
  isAnswered: boolean;
}

async function send(address: string, port: number, flows: number, intervalMs: number): Promise<void> {
  const sent: readonly Sent[][] = Array.from({ length: flows }, () => []);
  let [stallMs, tickedMs] = [0, performance.now()];
  const sockets = sent.map((packets) => {
    const socket = createSocket('udp4');
    socket.on('message', (message) => {
      const packet = packets[Number(message.toString())];
      if (packet) packet.isAnswered = true;
    });
    // A path that is away may answer with ICMP.
    socket.on('error', () => undefined);
    return socket;
  });
  const timer = setInterval(() => {
    const now = performance.now();
    stallMs = Math.max(stallMs, now - tickedMs - intervalMs);
    tickedMs = now;
    for (const [flow, socket] of sockets.entries()) {
      const packets = sent[flow] ?? [];
      socket.send(String(packets.push({ atMs: Date.now(), isAnswered: false }) - 1), port, address);
    }
  }, intervalMs);
  await once(process.stdin.resume(), 'end');
  clearInterval(timer);
  await new Promise((resolve) => setTimeout(resolve, graceMs));
  for (const socket of sockets) socket.close();
  const all = sent.flat();
  const lost = all.flatMap(({ atMs, isAnswered }) => (isAnswered ? [] : [atMs]));
  const result: FlowResult = {
    sent: all.length,
    received: all.length - lost.length,
    gapsMs: sent.map(longestGap).sort((a, b) => b - a),
    stallMs: Math.round(stallMs),
    lostAtMs: lost.length === 0 ? [] : [Math.min(...lost), Math.max(...lost)],
  };
  process.stdout.write(JSON.stringify(result));
}

/** From the last packet that was answered to the next one that was, where some between them were not. */
function longestGap(packets: readonly Sent[]): number {
  let longestMs = 0;
  let before = 0;
  for (const [at, { atMs, isAnswered }] of packets.entries()) {
    const isEnd = at === packets.length - 1;
    if (!isAnswered && !isEnd) continue;
    if (at - before > 1 || !isAnswered) longestMs = Math.max(longestMs, atMs - (packets[before]?.atMs ?? atMs));
    before = at;
  }
  return longestMs;
}

const [command, ...argv] = process.argv.slice(2);
if (process.argv[1] === here && command === 'echo') echo(Number(argv[0]));
if (process.argv[1] === here && command === 'send') {
  const [address = '', ...numbers] = argv;
  const [port = 0, flows = 0, intervalMs = 0] = numbers.map(Number);
  await send(address, port, flows, intervalMs);
}
