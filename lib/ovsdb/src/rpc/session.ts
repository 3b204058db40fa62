/**
 * One JSON-RPC connection (RFC 7047 §4, JSON-RPC 1.0): requests out, replies and notifications in, echo both ways.
 * The client creates one for each (re)connection and never reuses it. Messages are processed strictly in order of
 * arrival: a reply is processed before any later notification.
 */
import type { Socket } from 'node:net';
import type { TlsFiles } from '../client-types.ts';
import { OvsdbConnectionLost, type OvsdbError, OvsdbProtocolError, OvsdbRequestRefused } from '../errors.ts';
import { Framer } from './framer.ts';
import { type CallOptions, PendingCall } from './pending-call.ts';
import { Probe } from './probe.ts';
import { connectRemote, type Remote } from './remote.ts';

const connectTimeoutMs = 5000;

/** In JSON text: a NUL or half a surrogate pair. A server answers either by closing the connection. */
const unreadable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

export interface SessionOptions {
  readonly remote: Remote;
  readonly tls: TlsFiles | undefined;
  /** See OvsdbOptions. */
  readonly probeIntervalMs: number;
  readonly signal: AbortSignal;
  onNotification(method: string, params: readonly unknown[]): void;
}

/** @throws OvsdbConnectionLost */
export async function openSession(options: SessionOptions): Promise<Session> {
  const { remote, signal } = options;
  try {
    const socket = await connectRemote(
      remote,
      options.tls,
      AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]),
    );
    return new Session(socket, options);
  } catch (cause) {
    throw new OvsdbConnectionLost(
      `cannot connect to ${remote.text}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

export class Session {
  /** Resolves, never rejects, with the reason for the end. */
  readonly ended: Promise<OvsdbError>;
  readonly #socket: Socket;
  readonly #options: SessionOptions;
  readonly #framer = new Framer();
  readonly #probe: Probe;
  readonly #pending = new Map<number, Pick<PendingCall<unknown>, 'method' | 'take' | 'fail'>>();
  #lastId = 0;
  #endReason: OvsdbError | undefined;
  #settleEnded: (reason: OvsdbError) => void = () => undefined;

  constructor(socket: Socket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
    this.#probe = new Probe(options.probeIntervalMs, {
      ask: () => this.#send({ method: 'echo', params: [], id: 'echo' }),
      onSilence: () => this.end(this.#lost(`no answer within ${options.probeIntervalMs} ms`)),
    });
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (cause) => this.end(this.#lost(cause.message, cause)));
    socket.on('close', () => this.end(this.#lost('the server closed the connection')));
  }

  /**
   * Requests that no server could read are refused without being sent.
   * @throws OvsdbConnectionLost, OvsdbTimeout, OvsdbRequestRefused, or the signal's reason.
   */
  call<T>(method: string, params: readonly unknown[], options: CallOptions<T>): Promise<T> {
    options.signal?.throwIfAborted();
    if (this.#endReason !== undefined)
      throw new OvsdbConnectionLost(this.#endReason.message, { cause: this.#endReason });
    const id = ++this.#lastId;
    const text = textOf(method, params, id);
    const pending = new PendingCall(method, this.#options.remote.text, options, (gaveUp) => {
      this.#pending.delete(id);
      // The server drops a waiting transaction; a completed transaction is not undone (RFC 7047 §4.1.4).
      if (gaveUp) this.#send({ method: 'cancel', params: [id], id: null });
    });
    this.#pending.set(id, pending);
    this.#write(text);
    return pending.promise;
  }

  /** Ends the connection; pending calls reject with OvsdbConnectionLost. A second call has no effect. */
  end(reason: OvsdbError): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    this.#probe.stop();
    this.#socket.destroy();
    const lost = new OvsdbConnectionLost(reason.message, { sent: true, cause: reason });
    for (const pending of this.#pending.values()) pending.fail(lost);
    this.#settleEnded(reason);
  }

  #receive(chunk: Buffer): void {
    this.#probe.heard();
    try {
      for (const message of this.#framer.push(chunk)) {
        if (this.#endReason !== undefined) return;
        this.#dispatch(message);
      }
    } catch (error) {
      // Any other error is a defect of this program and must surface.
      if (!(error instanceof OvsdbProtocolError)) throw error;
      this.end(error);
    }
  }

  #dispatch(raw: unknown): void {
    if (raw === null || typeof raw !== 'object') throw new OvsdbProtocolError('a message is not an object');
    const message = raw as { method?: unknown; params?: unknown; id?: unknown; result?: unknown; error?: unknown };
    if (typeof message.method === 'string') this.#request(message.method, message.params, message.id ?? null);
    else this.#reply(message.id, message.result, message.error ?? null);
  }

  #request(method: string, params: unknown, id: unknown): void {
    if (!Array.isArray(params)) throw new OvsdbProtocolError(`params of ${method} are not a list`);
    if (id === null) this.#options.onNotification(method, params);
    else if (method === 'echo') this.#send({ result: params, error: null, id });
    else this.#send({ result: null, error: 'unknown method', id });
  }

  #reply(id: unknown, result: unknown, error: unknown): void {
    // No such request: the answer to an echo, or to a call that was cancelled in the meantime.
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (pending === undefined) return;
    if (error === null) pending.take(result);
    else pending.fail(refusal(pending.method, error));
  }

  #send(message: object): void {
    this.#write(JSON.stringify(message));
  }

  #write(text: string): void {
    if (this.#endReason === undefined) this.#socket.write(text);
  }

  #lost(why: string, cause?: unknown): OvsdbConnectionLost {
    return new OvsdbConnectionLost(`lost the connection to ${this.#options.remote.text}: ${why}`, {
      sent: true,
      cause,
    });
  }
}

function textOf(method: string, params: readonly unknown[], id: number): string {
  let text: string;
  try {
    text = JSON.stringify({ method, params, id });
  } catch (error) {
    // The text would be longer than a string can be.
    if (!(error instanceof RangeError)) throw error;
    throw new OvsdbRequestRefused(method, 'resources exhausted', 'the request is too long to be sent');
  }
  if (!unreadable.test(text)) return text;
  throw new OvsdbRequestRefused(method, 'syntax error', 'a string in it has a NUL or half a surrogate pair');
}

function refusal(method: string, error: unknown): OvsdbRequestRefused {
  if (typeof error !== 'object' || error === null) return new OvsdbRequestRefused(method, String(error), undefined);
  const { error: tag, details } = error as { error?: unknown; details?: unknown };
  return new OvsdbRequestRefused(
    method,
    typeof tag === 'string' ? tag : JSON.stringify(error),
    typeof details === 'string' ? details : undefined,
  );
}
