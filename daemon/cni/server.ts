/**
 * The unix socket of the daemon: requests of the shim come in, the results of `answer` (`commands.ts`) go out. If a client goes away before its answer
 * was written, the signal of its request aborts, and the request must undo what it has done.
 */
import { chmodSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { decodeRequest, encodeAnswer, MalformedRequest, type ShimAnswer, type ShimRequest } from './protocol.ts';

export interface CniServerOptions {
  readonly socketPath: string;
  /** Must answer bad requests as well. A rejection is a defect and ends the process. */
  readonly answer: (request: ShimRequest, signal: AbortSignal) => Promise<ShimAnswer>;
  readonly onMalformed: (error: MalformedRequest) => void;
}

export interface CniServer {
  /** Stops accepting requests; resolves when the requests under way are answered. */
  close(): Promise<void>;
}

const requestTimeoutMs = 10_000;

/**
 * Replaces the socket that an earlier daemon left behind. The new socket is moved into place once it listens and only root may connect,
 * because a waiting shim tries a new socket only once.
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
  // A killed client resets the connection; 'close' follows and aborts the request.
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
