/**
 * TCP connections that stay open between two network namespaces, with the longest time that one had no answers, and those that broke. Run as a
 * program, this file is one of the two ends: `echo PORT`, or `send ADDRESS PORT FLOWS INTERVAL_MS`, which sends until its standard input ends.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { letGo } from '../lab/run.ts';

const here = import.meta.filename;

export interface StreamResult {
  readonly flows: number;
  /** Connections that ended by themselves. */
  readonly broken: number;
  /** The longest time without an answer in milliseconds. */
  readonly gapMs: number;
}

/** Starts the echo server; resolves when its port is bound. */
export async function startStreamEcho(namespace: string, port: number): Promise<ChildProcess> {
  const child = startEnd(namespace, ['echo', String(port)]);
  await untilSaid(child, namespace);
  return child;
}

/** Opens connections and sends; resolves when all are open. @returns a function that stops the sender and returns its result */
export async function sendStreams(
  namespace: string,
  { address, port, flows, intervalMs }: Readonly<Record<'port' | 'flows' | 'intervalMs', number>> & { address: string },
): Promise<() => Promise<StreamResult>> {
  const child = startEnd(namespace, ['send', address, ...[port, flows, intervalMs].map(String)]);
  await untilSaid(child, namespace);
  const result = text(child.stdout as Readable);
  unref(child);
  return async () => {
    (child.stdout as Socket).ref();
    child.stdin?.end();
    return JSON.parse(await result) as StreamResult;
  };
}

async function untilSaid(child: ChildProcess, namespace: string): Promise<void> {
  (child.stdout as Socket).ref();
  const [chunk] = await Promise.race([once(child.stdout as Readable, 'data'), once(child, 'exit')]);
  if (!(chunk instanceof Buffer)) throw new Error(`the end in ${namespace} ended with ${String(chunk)}`);
  unref(child);
}

/** Starts an end with a raised priority, like the programs that it measures; it ends with the test. */
function startEnd(namespace: string, argv: readonly string[]): ChildProcess {
  const command = ['--pdeathsig', 'KILL', '--', 'ip', 'netns', 'exec', namespace, process.execPath, here, ...argv];
  const child = spawn('setpriv', command, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  letGo(child.pid ?? 0, 'first');
  unref(child);
  return child;
}

/** A failed test never stops its flows: they must not keep the test runner alive. */
function unref(child: ChildProcess): void {
  for (const each of [child, child.stdin as Socket, child.stdout as Socket]) each.unref();
}

async function echo(port: number): Promise<void> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  server.listen(port, '::');
  await once(server, 'listening');
  process.stdout.write('ready\n');
}

async function send(address: string, port: number, flows: number, intervalMs: number): Promise<void> {
  let [gapMs, broken, isOver] = [0, 0, false];
  const heard = new Map<Socket, number>();
  const hear = (socket: Socket): void => {
    const now = performance.now();
    gapMs = Math.max(gapMs, now - (heard.get(socket) ?? now));
    heard.set(socket, now);
  };
  const open = Array.from({ length: flows }, async () => {
    const socket = connect({ host: address, port, noDelay: true });
    await once(socket, 'connect');
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (!isOver) broken += 1;
    });
    socket.on('data', () => hear(socket));
    hear(socket);
    return socket;
  });
  const sockets = await Promise.all(open);
  process.stdout.write('ready\n');
  const timer = setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write('.');
  }, intervalMs);
  for await (const _ of process.stdin);
  clearInterval(timer);
  isOver = true;
  for (const socket of sockets) {
    if (!socket.destroyed) hear(socket);
    // Without a handshake at the end, which goes on for a minute where the path is cut: of packets of a connection that it has forgotten, the userspace
    // datapath of Open vSwitch 3.1 may end with an assertion (`conn_update_state`).
    socket.resetAndDestroy();
  }
  process.stdout.write(JSON.stringify({ flows, broken, gapMs: Math.round(gapMs) }));
}

if (process.argv[1] === here) {
  const [mode, first = '', ...rest] = process.argv.slice(2);
  const [port = 0, flows = 0, intervalMs = 0] = rest.map(Number);
  await (mode === 'echo' ? echo(Number(first)) : send(first, port, flows, intervalMs));
}
