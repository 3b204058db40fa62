/**
 * Many UDP flows between two network namespaces, and the longest time that one of them heard nothing. Run as a program it
 * is one of the two ends: `echo PORT`, or `send ADDRESS PORT FLOWS INTERVAL_MS DURATION_MS`.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = import.meta.filename;

export interface FlowResult {
  readonly sent: number;
  readonly received: number;
  /** Of each flow, in milliseconds, the longest first. */
  readonly gapsMs: readonly number[];
  /** When the first and the last packet that had no answer left, in Unix milliseconds. */
  readonly lostAtMs: readonly number[];
}

export function startEcho(namespace: string, port: number): ChildProcess {
  return spawn('ip', ['netns', 'exec', namespace, process.execPath, here, 'echo', String(port)], { stdio: 'ignore' });
}

export async function sendFlows(
  namespace: string,
  {
    address,
    port,
    flows,
    intervalMs,
    durationMs,
  }: Readonly<Record<'port' | 'flows' | 'intervalMs' | 'durationMs', number>> & { readonly address: string },
): Promise<FlowResult> {
  const argv = [address, port, flows, intervalMs, durationMs].map(String);
  const { stdout } = await run('ip', ['netns', 'exec', namespace, process.execPath, here, 'send', ...argv]);
  return JSON.parse(stdout) as FlowResult;
}

function echo(port: number): void {
  const socket = createSocket('udp4');
  socket.on('message', (message, { address, port: from }) => socket.send(message, from, address));
  socket.bind(port);
}

async function send(
  address: string,
  port: number,
  flows: number,
  intervalMs: number,
  durationMs: number,
): Promise<void> {
  let [sent, received] = [0, 0];
  const start = performance.now();
  const unanswered = new Map<string, number>();
  const gaps = Array.from({ length: flows }, () => 0);
  const last = Array.from({ length: flows }, () => start);
  const heard = (flow: number): void => {
    const now = performance.now();
    gaps[flow] = Math.max(gaps[flow] ?? 0, now - (last[flow] ?? now));
    last[flow] = now;
  };
  const sockets = gaps.map((_, flow) => {
    const socket = createSocket('udp4');
    socket.on('message', (message) => {
      received += 1;
      unanswered.delete(`${flow} ${message.toString()}`);
      heard(flow);
    });
    // A path that is away may answer with ICMP.
    socket.on('error', () => undefined);
    return socket;
  });
  const timer = setInterval(() => {
    for (const [flow, socket] of sockets.entries()) {
      sent += 1;
      unanswered.set(`${flow} ${sent}`, Date.now());
      socket.send(String(sent), port, address);
    }
  }, intervalMs);
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  clearInterval(timer);
  await new Promise((resolve) => setTimeout(resolve, 200));
  for (const [flow, socket] of sockets.entries()) {
    const silence = start + durationMs - (last[flow] ?? start);
    gaps[flow] = Math.max(gaps[flow] ?? 0, silence);
    socket.close();
  }
  const gapsMs = gaps.map(Math.round).sort((a, b) => b - a);
  const lost = [...unanswered.values()];
  const lostAtMs = lost.length === 0 ? [] : [Math.min(...lost), Math.max(...lost)];
  process.stdout.write(JSON.stringify({ sent, received, gapsMs, lostAtMs }));
}

const [command, ...argv] = process.argv.slice(2);
if (process.argv[1] === here && command === 'echo') echo(Number(argv[0]));
if (process.argv[1] === here && command === 'send') {
  const [address = '', ...numbers] = argv;
  const [port = 0, flows = 0, intervalMs = 0, durationMs = 0] = numbers.map(Number);
  await send(address, port, flows, intervalMs, durationMs);
}
