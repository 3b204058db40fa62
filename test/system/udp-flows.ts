/**
 * Many UDP flows between two network namespaces, and the longest time that a flow had no answers. Run as a program, this file is
 * one of the two ends: `echo PORT ADDRESS`, or `send ADDRESS PORT FLOWS INTERVAL_MS`, which sends until its standard input ends.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { letGo } from '../lab/run.ts';

/** How long the sender waits for the last answers. */
const graceMs = 1000;
const here = import.meta.filename;

export interface Gap {
  readonly gapMs: number;
  /** Unix milliseconds; 0 without a gap. */
  readonly gapAtMs: number;
}

export interface FlowResult {
  readonly sent: number;
  readonly received: number;
  /** The longest gap of each flow in milliseconds, longest first; late packets are not lost. */
  readonly gapsMs: readonly number[];
  /** Each flow with its longest gap and when that began, and the address of the sender that its last answer named. */
  readonly flows: readonly (Gap & { readonly seenAs: string })[];
  /** The longest delay of the sender's timer, in milliseconds: how long the machine delayed the sender itself. */
  readonly stallMs: number;
  /** When the first and the last unanswered packet were sent, in Unix milliseconds. */
  readonly lostAtMs: readonly number[];
}

/** Starts the echo server; resolves when its port is bound. @param address at which it answers; without it the system chooses that of answers */
export async function startEcho(namespace: string, port: number, address = '0.0.0.0'): Promise<ChildProcess> {
  const child = startEnd(namespace, ['echo', String(port), address], ['ignore', 'pipe', 'inherit']);
  const output = child.stdout as Readable;
  const [chunk] = await Promise.race([once(output, 'data'), once(child, 'exit')]);
  if (!(chunk instanceof Buffer)) throw new Error(`the echo in ${namespace} ended with ${String(chunk)}`);
  return child;
}

/** Starts to send. @returns a function that stops the sender and returns its result */
export function sendFlows(
  namespace: string,
  { address, port, flows, intervalMs }: Readonly<Record<'port' | 'flows' | 'intervalMs', number>> & { address: string },
): () => Promise<FlowResult> {
  const argv = [address, port, flows, intervalMs].map(String);
  const child = startEnd(namespace, ['send', ...argv], ['pipe', 'pipe', 'inherit']);
  const result = text(child.stdout as Readable);
  // A failed test never stops its flows: they must not keep the test runner alive.
  const pipes = [child.stdin as Socket, child.stdout as Socket];
  for (const each of [child, ...pipes]) each.unref();
  return async () => {
    for (const pipe of pipes) pipe.ref();
    child.stdin?.end();
    return JSON.parse(await result) as FlowResult;
  };
}

/** Starts an end with a raised priority, like the programs that it measures; it ends with the test. */
function startEnd(namespace: string, argv: readonly string[], stdio: StdioOptions): ChildProcess {
  const command = ['--pdeathsig', 'KILL', '--', 'ip', 'netns', 'exec', namespace, process.execPath, here, ...argv];
  const child = spawn('setpriv', command, { stdio, detached: true });
  letGo(child.pid ?? 0, 'first');
  return child;
}

function echo(port: number, address: string | undefined): void {
  const socket = createSocket('udp4');
  // An answer that cannot be sent counts as lost; without the callback its error would end the program.
  socket.on('message', (message, { address: from, port: fromPort }) =>
    socket.send(`${message.toString()} ${from}`, fromPort, from, () => undefined),
  );
  socket.bind(port, address, () => process.stdout.write('bound\n'));
}

interface Sent {
  /** Unix milliseconds. */
  readonly atMs: number;
  isAnswered: boolean;
}

async function send(address: string, port: number, flows: number, intervalMs: number): Promise<void> {
  const sent: readonly Sent[][] = Array.from({ length: flows }, () => []);
  let [stallMs, tickedMs] = [0, performance.now()];
  const seenAs = new Map<number, string>();
  const sockets = sent.map((packets, flow) => {
    const socket = createSocket('udp4');
    socket.on('message', (message) => {
      const [index, from = ''] = message.toString().split(' ');
      const packet = packets[Number(index)];
      if (packet === undefined) return;
      packet.isAnswered = true;
      seenAs.set(flow, from);
    });
    // A path that is down may cause ICMP errors.
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
    gapsMs: sent.map((packets) => longestGap(packets).gapMs).sort((a, b) => b - a),
    flows: sent.map((packets, flow) => ({ ...longestGap(packets), seenAs: seenAs.get(flow) ?? '' })),
    stallMs: Math.round(stallMs),
    lostAtMs: lost.length === 0 ? [] : [Math.min(...lost), Math.max(...lost)],
  };
  process.stdout.write(JSON.stringify(result));
}

/** The longest time between two answered packets with unanswered packets between them. */
function longestGap(packets: readonly Sent[]): Gap {
  let longest: Gap = { gapMs: 0, gapAtMs: 0 };
  let before = 0;
  for (const [at, { atMs, isAnswered }] of packets.entries()) {
    const isEnd = at === packets.length - 1;
    if (!isAnswered && !isEnd) continue;
    const gapAtMs = packets[before]?.atMs ?? atMs;
    const isGap = at - before > 1 || !isAnswered;
    if (isGap && atMs - gapAtMs > longest.gapMs) longest = { gapMs: atMs - gapAtMs, gapAtMs };
    before = at;
  }
  return longest;
}

const [command, ...argv] = process.argv.slice(2);
if (process.argv[1] === here && command === 'echo') echo(Number(argv[0]), argv[1]);
if (process.argv[1] === here && command === 'send') {
  const [address = '', ...numbers] = argv;
  const [port = 0, flows = 0, intervalMs = 0] = numbers.map(Number);
  await send(address, port, flows, intervalMs);
}
