/**
 * API servers that are ready before a test asks for one. A process keeps a few and gives each away once, by a unix socket: one connection is one
 * API server, whose place comes as a line of JSON. Lines with names of signals go the other way and are answered. The API server ends with the
 * connection, so a test that is killed leaves nothing.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { end, endServers, startServers } from './testing-servers.ts';
import type { Place, Running, Servers } from './testing-servers.ts';

/** The environment variable that has the path of the pool's socket. */
export const poolVariable = 'ISTHMUS_API_SERVERS';

type Answer = { readonly place: Place } | { readonly error: string };

export interface Borrowed {
  readonly place: Place;
  readonly apiServer: Running;
  /** Resolves when etcd, the API server and their folder are gone. */
  readonly giveBack: () => Promise<void>;
}

/** @throws Error if the pool could not start an API server, or is gone */
export async function borrowServers(path: string): Promise<Borrowed> {
  const socket = connect(path);
  const waiting: ((line: string) => void)[] = [];
  const gone = Promise.withResolvers<never>();
  // A rejection that no caller awaits must not end the process.
  gone.promise.catch(() => undefined);
  socket.on('error', gone.reject).once('close', () => gone.reject(new Error('the pool of API servers is gone')));
  onLine(socket, (line) => waiting.shift()?.(line));
  const nextLine = (): Promise<string> =>
    Promise.race([new Promise<string>((resolve) => waiting.push(resolve)), gone.promise]);
  const send = async (name: NodeJS.Signals): Promise<void> => {
    socket.write(`${name}\n`);
    await nextLine();
  };
  const answer = JSON.parse(await nextLine()) as Answer;
  if ('error' in answer) throw new Error(answer.error);
  return {
    place: answer.place,
    apiServer: { end: () => send('SIGKILL'), signal: (name) => void send(name) },
    giveBack: async () => {
      const closed = once(socket, 'close');
      socket.end();
      await closed;
    },
  };
}

/** Keeps `size` API servers ready for those that connect to the socket. @returns what ends it, and all API servers with it */
export async function servePool(path: string, size: number): Promise<() => Promise<void>> {
  const ready: Promise<Servers | Error>[] = [];
  const all = new Set<Promise<Servers | Error>>();
  const startNext = (): Promise<Servers | Error> => {
    const starting = startServers([]).catch(
      (cause: unknown) => new Error(`no API server: ${String(cause)}`, { cause }),
    );
    all.add(starting);
    return starting;
  };
  const release = async (starting: Promise<Servers | Error>): Promise<void> => {
    if (!all.delete(starting)) return;
    const servers = await starting;
    if (!(servers instanceof Error)) await endServers(servers);
  };
  const lend = async (socket: Socket): Promise<void> => {
    const over = Promise.withResolvers<void>();
    // A test that is killed may reset its connection.
    socket.on('error', over.resolve).once('end', over.resolve);
    const starting = ready.shift() ?? startNext();
    ready.push(startNext());
    onLine(socket, (line) => void obey(starting, line as NodeJS.Signals).then(() => socket.write('done\n')));
    const servers = await starting;
    const answer: Answer = servers instanceof Error ? { error: servers.message } : { place: servers.place };
    socket.write(`${JSON.stringify(answer)}\n`);
    await over.promise;
    await release(starting);
    socket.end();
  };
  for (let count = 0; count < size; count++) ready.push(startNext());
  // Half open: the end of a connection is answered when the API server is gone.
  const listener = createServer({ allowHalfOpen: true }, (socket) => void lend(socket)).listen(path);
  await once(listener, 'listening');
  return async () => {
    listener.close();
    await Promise.all([...all].map(release));
  };
}

async function obey(starting: Promise<Servers | Error>, name: NodeJS.Signals): Promise<void> {
  const servers = await starting;
  if (servers instanceof Error) return;
  if (name === 'SIGKILL') await end(servers.apiServer);
  else servers.apiServer.kill(name);
}

function onLine(socket: Socket, act: (line: string) => void): void {
  createInterface({ input: socket }).on('line', act);
}
