/**
 * Steady requests to a Service: a connection every 20 ms, and one that is kept. Run as a program, this file is one of the two ends: `serve
 * PORT`, or `ask ADDRESS PORT`, which prints its counts for each line of its standard input, and ends with it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { letGo } from '../../lab/run.ts';

const intervalMs = 20;
const keptIntervalMs = 50;
/** After that a request has failed. */
const patienceMs = 5000;
const here = import.meta.filename;

export interface Counts {
  readonly asked: number;
  /** Error code → number of requests. */
  readonly failed: Readonly<Record<string, number>>;
  readonly longestMs: number;
  /** Why the kept connection ended, each time. */
  readonly ended: readonly string[];
}

export interface Requests {
  /** Since the former call. */
  take(): Promise<Counts>;
  stop(): void;
}

/** @param wrap the command line that runs a program at the place of the server; resolves when its port is bound */
export async function startServer(wrap: Wrap, port: number): Promise<ChildProcess> {
  const child = startEnd(wrap, ['serve', String(port)]);
  if (child.stdout === null) throw new Error('no output');
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server on port ${port} ended with ${code}`))),
  ]);
  return child;
}

export type Wrap = (argv: readonly string[]) => readonly string[];

export function startRequests(wrap: Wrap, address: string, port: number): Requests {
  const child = startEnd(wrap, ['ask', address, String(port)]);
  if (child.stdout === null || child.stdin === null) throw new Error('no pipes');
  const { stdin } = child;
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    take: async () => {
      stdin.write('\n');
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the requests to ${address}:${port} ended`);
      return JSON.parse(value) as Counts;
    },
    stop: () => void child.kill('SIGKILL'),
  };
}

/** With a raised priority, like the programs that it measures; it ends with the test. */
function startEnd(wrap: Wrap, argv: readonly string[]): ChildProcess {
  const command = ['--pdeathsig', 'KILL', '--', ...wrap([process.execPath, here, ...argv])];
  const child = spawn('setpriv', command, { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  letGo(child.pid ?? 0, 'first');
  return child;
}

function serve(port: number): void {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(port, () => process.stdout.write('bound\n'));
}

/** One exchange. Rejects with the code of the error. */
function exchange(socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error('silent')), patienceMs);
  const onData = (): void => resolve();
  const onError = (error: NodeJS.ErrnoException): void => reject(new Error(error.code));
  const onClose = (): void => reject(new Error('closed'));
  socket.once('data', onData).once('error', onError).once('close', onClose);
  socket.write('?');
  return promise.finally(() => {
    clearTimeout(timer);
    socket.off('data', onData).off('error', onError).off('close', onClose);
  });
}

async function ask(address: string, port: number): Promise<void> {
  let counts = { asked: 0, failed: {} as Record<string, number>, longestMs: 0, ended: [] as string[] };
  const open = (): Socket => connect({ host: address, port }).on('error', () => undefined);
  const request = async (): Promise<void> => {
    const sinceMs = performance.now();
    const socket = open();
    counts.asked += 1;
    try {
      await exchange(socket);
    } catch (error) {
      const { message } = error as Error;
      counts.failed[message] = (counts.failed[message] ?? 0) + 1;
    } finally {
      socket.destroy();
      counts.longestMs = Math.max(counts.longestMs, Math.round(performance.now() - sinceMs));
    }
  };
  const keep = async (): Promise<never> => {
    for (let socket = open(); ; await new Promise((resolve) => setTimeout(resolve, keptIntervalMs)))
      try {
        await exchange(socket);
      } catch (error) {
        counts.ended.push((error as Error).message);
        socket.destroy();
        socket = open();
      }
  };
  void keep();
  setInterval(() => void request(), intervalMs);
  for await (const _ of createInterface(process.stdin)) {
    process.stdout.write(`${JSON.stringify(counts)}\n`);
    counts = { asked: 0, failed: {}, longestMs: 0, ended: [] };
  }
  process.exit();
}

if (import.meta.main) {
  const [command, ...args] = process.argv.slice(2);
  if (command === 'serve') serve(Number(args[0]));
  else await ask(args[0] ?? '', Number(args[1]));
}
