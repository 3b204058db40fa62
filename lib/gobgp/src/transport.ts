import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { type GobgpError, GobgpIncompatible, GobgpRejected, GobgpUnreachable } from './errors.ts';

/** The API generation of gobgpd; the two share neither service name nor enum values. */
export type ApiGeneration = 'v3' | 'v4';

/** gRPC calls of one gobgpd, in its own generation. Enums are the names of the .proto files, bytes are Buffers. */
export interface Transport {
  readonly generation: ApiGeneration;
  unary(method: string, request: object): Promise<object>;
  collect(method: string, request: object): Promise<object[]>;
  /** Calls `onMessage` with each message of a finite stream; reads no further message before its promise is settled. */
  each(method: string, request: object, onMessage: MessageListener): Promise<void>;
  upload(method: string, messages: readonly object[]): Promise<void>;
  /** Calls `onMessage` until the stream ends, which is always an error; reads no further message before its promise is settled. */
  follow(
    method: string,
    request: object,
    onMessage: MessageListener,
  ): { readonly ended: Promise<GobgpError>; cancel(): void };
  close(): void;
}

/** A returned promise pauses the stream until it is settled, and must not be rejected. */
export type MessageListener = (message: object) => Promise<void> | void;

export interface TransportOptions {
  /** `unix:/path`, `host:port`. */
  readonly target: string;
  /** The folder with v3/gobgp.proto and v4/gobgp.proto; by default the repository's. */
  readonly protoDir?: string;
  /** Deadline of every call. */
  readonly timeoutMs?: number;
  /** Called for every call. */
  readonly onCall?: (method: string) => void;
}

/** Extension of an upload's deadline per message: some thirty times the time that gobgpd needs for a message. */
const uploadMs = 250;
/** Deadline of a list whose speed depends on a listener. */
const slowReaderMs = 120_000;

const services = { v4: 'api.GoBgpService', v3: 'apipb.GobgpApi' } as const;

const channelOptions: grpc.ChannelOptions = {
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.enable_http_proxy': 0,
  // A shared subchannel would carry over the back-off of an earlier, closed client.
  'grpc.use_local_subchannel_pool': 1,
};

/** @throws GobgpUnreachable | GobgpIncompatible */
export async function openTransport(options: TransportOptions): Promise<Transport> {
  const client = new grpc.Client(options.target, grpc.credentials.createInsecure(), channelOptions);
  try {
    for (const generation of ['v4', 'v3'] as const) {
      const transport = new GrpcTransport(client, generation, options);
      // The wrong generation answers UNIMPLEMENTED to every call, so this cannot be misread.
      if (await transport.hasService()) return transport;
    }
    throw new GobgpIncompatible(options.target);
  } catch (error) {
    client.close();
    throw error;
  }
}

class GrpcTransport implements Transport {
  readonly generation: ApiGeneration;
  readonly #client: grpc.Client;
  readonly #service: ServiceDefinition;
  readonly #target: string;
  readonly #timeoutMs: number;
  readonly #onCall: ((method: string) => void) | undefined;

  constructor(client: grpc.Client, generation: ApiGeneration, options: TransportOptions) {
    this.generation = generation;
    this.#client = client;
    this.#target = options.target;
    this.#timeoutMs = options.timeoutMs ?? 5000;
    this.#onCall = options.onCall;
    const protoDir = options.protoDir ?? fileURLToPath(new URL('../../../proto/gobgp', import.meta.url));
    this.#service = serviceOf(`${protoDir}/${generation}/gobgp.proto`, services[generation]);
  }

  /** Whether gobgpd has the service of this generation. @throws GobgpUnreachable */
  async hasService(): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#request('GetBgp', {}, (error) => {
      if (error?.code === grpc.status.UNIMPLEMENTED) return resolve(false);
      const failure = error && this.#errorOf('GetBgp', error);
      // A gobgpd whose BGP was stopped refuses every call, although it speaks this generation.
      if (failure instanceof GobgpUnreachable) reject(failure);
      else resolve(true);
    });
    return promise;
  }

  async unary(method: string, request: object): Promise<object> {
    const { promise, resolve, reject } = Promise.withResolvers<object>();
    this.#request(method, request, (error, response) =>
      error ? reject(this.#errorOf(method, error)) : resolve(response ?? {}),
    );
    return promise;
  }

  async collect(method: string, request: object): Promise<object[]> {
    const messages: object[] = [];
    await this.#readAll(method, request, (message) => void messages.push(message), this.#callOptions());
    return messages;
  }

  async each(method: string, request: object, onMessage: MessageListener): Promise<void> {
    await this.#readAll(method, request, onMessage, { deadline: Date.now() + slowReaderMs });
  }

  async upload(method: string, messages: readonly object[]): Promise<void> {
    const definition = this.#method(method);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const call = this.#client.makeClientStreamRequest(
      definition.path,
      definition.requestSerialize,
      definition.responseDeserialize,
      this.#callOptions(messages.length * uploadMs),
      (error: grpc.ServiceError | null) => (error ? reject(this.#errorOf(method, error)) : resolve()),
    );
    for (const message of messages) call.write(message);
    call.end();
    return promise;
  }

  follow(
    method: string,
    request: object,
    onMessage: MessageListener,
  ): { readonly ended: Promise<GobgpError>; cancel(): void } {
    const { promise, resolve } = Promise.withResolvers<GobgpError>();
    const call = this.#read(method, request, onMessage, {})
      .on('error', (error: grpc.ServiceError) => resolve(this.#errorOf(method, error)))
      .on('end', () => resolve(new GobgpUnreachable(this.#target, 'it ended the stream of events')));
    return { ended: promise, cancel: () => call.cancel() };
  }

  close(): void {
    this.#client.close();
  }

  #request(method: string, request: object, done: (error: grpc.ServiceError | null, response?: object) => void): void {
    const definition = this.#method(method);
    this.#client.makeUnaryRequest(
      definition.path,
      definition.requestSerialize,
      definition.responseDeserialize,
      request,
      this.#callOptions(),
      done,
    );
  }

  async #readAll(
    method: string,
    request: object,
    onMessage: MessageListener,
    options: grpc.CallOptions,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#read(method, request, onMessage, options)
      .on('error', (error: grpc.ServiceError) => reject(this.#errorOf(method, error)))
      .on('end', () => resolve());
    return promise;
  }

  #read(
    method: string,
    request: object,
    onMessage: MessageListener,
    options: grpc.CallOptions,
  ): grpc.ClientReadableStream<object> {
    const { path, requestSerialize, responseDeserialize } = this.#method(method);
    const call = this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, options);
    return call.on('data', (message: object) => {
      const handled = onMessage(message);
      if (!handled) return;
      // Messages that arrive during the pause wait in the buffers of HTTP/2, then in gobgpd.
      call.pause();
      void handled.then(() => call.resume());
    });
  }

  /** @param moreMs extends the deadline of a call that is expensive for gobgpd */
  #callOptions(moreMs = 0): grpc.CallOptions {
    return { deadline: Date.now() + this.#timeoutMs + moreMs };
  }

  /** The method that is about to be called. */
  #method(name: string): MethodDefinition<object, object> {
    this.#onCall?.(name);
    const definition = this.#service[name];
    if (!definition) throw new TypeError(`no rpc ${name} in ${services[this.generation]}`);
    return definition;
  }

  #errorOf(method: string, error: grpc.ServiceError): GobgpError {
    const { UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED } = grpc.status;
    if (error.code === UNAVAILABLE || error.code === DEADLINE_EXCEEDED || error.code === CANCELLED) {
      return new GobgpUnreachable(this.#target, error.details, { cause: error });
    }
    return new GobgpRejected(method, error.details, { cause: error });
  }
}

const loaded = new Map<string, ServiceDefinition>();

/** Reads the file once, because a client that waits for gobgpd to start tries often. */
function serviceOf(file: string, name: string): ServiceDefinition {
  const known = loaded.get(file);
  if (known) return known;
  const options = { keepCase: true, longs: Number, enums: String, defaults: true, arrays: true };
  const service = loadSync(file, options)[name];
  if (!service || 'format' in service) throw new TypeError(`no service ${name} in ${file}`);
  loaded.set(file, service);
  return service;
}
