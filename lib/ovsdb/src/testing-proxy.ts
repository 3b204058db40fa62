/** A proxy between a client and a server under test: records what the server says and cuts connections on demand. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import * as net from 'node:net';
import { Framer } from './rpc/framer.ts';

export interface TestProxy {
  /** `unix:PATH`, for OvsdbOptions.remotes. */
  readonly remote: string;
  /** Every message so far, in order, of all connections. */
  readonly fromServer: readonly Readonly<Record<string, unknown>>[];
  readonly fromClient: readonly Readonly<Record<string, unknown>>[];
  /** Ends every open connection. While `refuse` is true, new ones are cut at once. */
  cut(): void;
  refuse: boolean;
  /** While true, nothing the server says is passed on; it is passed on later. */
  hold: boolean;
  stop(): Promise<void>;
}

/** `target` is a `unix:PATH` remote; the proxy listens beside it. */
export async function startProxy(target: string): Promise<TestProxy> {
  const proxy = new RecordingProxy(target.slice('unix:'.length));
  await proxy.listen();
  return proxy;
}

class RecordingProxy implements TestProxy {
  readonly remote: string;
  readonly fromServer: Readonly<Record<string, unknown>>[] = [];
  readonly fromClient: Readonly<Record<string, unknown>>[] = [];
  refuse = false;
  readonly #target: string;
  readonly #path: string;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  readonly #upstreams = new Set<net.Socket>();
  #hold = false;

  constructor(target: string) {
    this.#target = target;
    this.#path = `${target}.proxy`;
    this.remote = `unix:${this.#path}`;
    this.#server = net.createServer((client) => this.#join(client));
  }

  get hold(): boolean {
    return this.#hold;
  }

  set hold(hold: boolean) {
    this.#hold = hold;
    for (const upstream of this.#upstreams) {
      if (hold) upstream.pause();
      else upstream.resume();
    }
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#path);
    await once(this.#server, 'listening');
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await rm(this.#path, { force: true });
  }

  #join(client: net.Socket): void {
    if (this.refuse) {
      client.destroy();
      return;
    }
    const upstream = net.connect(this.#target);
    this.#pass(client, upstream, this.fromClient);
    this.#pass(upstream, client, this.fromServer);
    this.#upstreams.add(upstream);
    upstream.on('close', () => this.#upstreams.delete(upstream));
    if (this.#hold) upstream.pause();
  }

  #pass(from: net.Socket, to: net.Socket, record: Readonly<Record<string, unknown>>[]): void {
    const framer = new Framer();
    this.#sockets.add(from);
    from.on('data', (chunk: Buffer) => {
      for (const message of framer.push(chunk)) record.push(message as Readonly<Record<string, unknown>>);
      to.write(chunk);
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
