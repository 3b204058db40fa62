/**
 * The daemon's unix socket. In: requests of the shim. Out: what `answer` returns. A client that goes away before
 * its answer was written aborts its request's signal; whoever serves the request must then undo what it did.
 */
import { chmodSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { decodeRequest, encodeAnswer, MalformedRequest, type ShimAnswer, type ShimRequest } from './protocol.ts';

export interface CniServerOptions {
  readonly socketPath: string;
  /** Must not reject for bad requests: those are answers too. A rejection is a defect and ends the process. */
  readonly answer: (request: ShimRequest, signal: AbortSignal) => Promise<ShimAnswer>;
  readonly onMalformed: (error: MalformedRequest) => void;
}

export interface CniServer {
  /** Stops accepting; resolves when the requests under way are answered. */
  close(): Promise<void>;
}

const requestTimeoutMs = 10_000;

/**
 * Takes the place of the socket that an earlier daemon left behind. It is put there only when it listens and only root may
 * connect: a shim that waits for a daemon looks for a new socket once.
 */
export async function openCniServer(options: CniServerOptions): Promise<CniServer> {
  const { socketPath } = options;
  const prepared = `${socketPath}.new`;
  mkdirSync(dirname(socketPath), { recursive: true });
  rmSync(prepared, { force: true });
  const server = createServer((socket) => serve(socket, options));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(prepared, resolve);
  });
  chmodSync(prepared, 0o600);
  renameSync(prepared, socketPath);
  return { close: () => closeServer(server) };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function serve(socket: Socket, options: CniServerOptions): void {
  const gone = new AbortController();
  let received = Buffer.alloc(0);
  let isServing = false;
  socket.setTimeout(requestTimeoutMs, () => !isServing && socket.destroy());
  socket.on('close', () => gone.abort(new Error('the CNI client went away')));
  // A reset by a killed client; 'close' follows and aborts the request.
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    if (isServing) return;
    received = Buffer.concat([received, chunk]);
    const request = decodeOrDrop(received, socket, options);
    if (request === undefined) return;
    isServing = true;
    void options.answer(request, gone.signal).then((answer) => socket.end(encodeAnswer(answer)));
  });
}

function decodeOrDrop(received: Buffer, socket: Socket, options: CniServerOptions): ShimRequest | undefined {
  try {
    return decodeRequest(received);
  } catch (error) {
    if (!(error instanceof MalformedRequest)) throw error;
    options.onMalformed(error);
    socket.destroy();
    return undefined;
  }
}
