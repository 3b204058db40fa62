/** An HTTP server at a port that another program may have, such as kube-proxy before it is removed. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';

export interface PortServerOptions {
  readonly port: number;
  readonly answer: RequestListener;
  /** Called once if the server cannot listen. It tries again until it listens or is closed. */
  readonly onRefused: (reason: string) => void;
  readonly onListening: () => void;
}

/** A load balancer takes a node out after a few checks without an answer, as when kube-proxy has just closed the port. */
const retryMs = 1000;

export class PortServer {
  readonly #options: PortServerOptions;
  #server: Server | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isRefused = false;

  constructor(options: PortServerOptions) {
    this.#options = options;
    this.#listen();
  }

  /** Whether the last attempt to listen failed. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const server = this.#server;
    if (server?.listening !== true) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  #listen(): void {
    const { port, answer, onRefused, onListening } = this.#options;
    const server = createServer(answer);
    this.#server = server;
    server.on('error', (error) => {
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => this.#listen(), retryMs).unref();
      if (this.#isRefused) return;
      this.#isRefused = true;
      onRefused(error.message);
    });
    server.on('listening', () => {
      this.#isRefused = false;
      if (!this.#isClosed) onListening();
    });
    // Without a host it listens on all addresses of both families.
    server.listen(port);
    server.unref();
  }
}
