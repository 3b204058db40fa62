/**
 * HTTP to one API server: a bounded pool that all requests share, another one for watches (each holds its connection
 * for minutes, so within the bound they would starve the requests). The pools are rebuilt when certificates change.
 */
import type { Dispatcher } from 'undici';
// Imports only these parts: the whole package, with its fetch, WebSockets and caches, takes 13 MB of memory in every process.
import sendRequest from 'undici/lib/api/api-request.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { Credentials, KubeEndpoint, TlsOptions } from './config.ts';
import { KubeApiError, KubeUnreachable } from './errors.ts';

/** Unbounded pools can open 99 connections for 50 parallel requests. */
const requestConnections = 16;
/** Files are read again after this time: the kubelet replaces tokens well before they expire. */
const credentialsMs = 60_000;

export interface Exchange {
  readonly method: string;
  /** With query, below the server's URL. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  /** Requested type of the answer; JSON by default. */
  readonly accept?: string;
  /** A watch, which uses a connection of its own. */
  readonly isLong?: boolean;
  /** Longest wait for the first byte, and between two bytes. */
  readonly headersTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly isJson: boolean;
  readonly body: Dispatcher.ResponseData['body'];
}

interface Pools {
  readonly tls: TlsOptions;
  readonly requests: Pool;
  readonly watches: Pool;
}

export class Transport {
  readonly #loadEndpoint: () => Promise<KubeEndpoint>;
  readonly #userAgent: string;
  #endpoint: Promise<KubeEndpoint> | undefined;
  #credentials: { readonly value: Promise<Credentials>; readonly readAtMs: number } | undefined;
  #pools: Pools | undefined;
  /** Errors of connections that were never established. */
  readonly #unsent = new WeakSet<Error>();
  #isClosed = false;

  constructor(loadEndpoint: () => Promise<KubeEndpoint>, userAgent: string) {
    this.#loadEndpoint = loadEndpoint;
    this.#userAgent = userAgent;
  }

  /** Sends one request; the caller consumes the body. @throws KubeApiError, KubeUnreachable, or the signal's reason */
  async send(exchange: Exchange): Promise<Answer> {
    exchange.signal?.throwIfAborted();
    const endpoint = await (this.#endpoint ??= this.#loadEndpoint());
    const credentials = await this.#readCredentials(endpoint);
    const pools = this.#poolsFor(endpoint, credentials.tls);
    const headers: Record<string, string | string[]> = {
      ...credentials.headers,
      accept: exchange.accept ?? 'application/json',
      'user-agent': this.#userAgent,
    };
    if (exchange.body !== undefined) headers['content-type'] = exchange.contentType ?? 'application/json';
    try {
      const response = await sendRequest.call(exchange.isLong ? pools.watches : pools.requests, {
        method: exchange.method,
        path: endpoint.server.pathname.replace(/\/$/, '') + exchange.path,
        headers,
        body: exchange.body ?? null,
        headersTimeout: exchange.headersTimeoutMs,
        bodyTimeout: exchange.bodyTimeoutMs,
        signal: exchange.signal ?? null,
      });
      if (response.statusCode < 400) {
        const isJson = String(response.headers['content-type']).startsWith('application/json');
        return { isJson, body: response.body };
      }
      if (response.statusCode === 401) this.#credentials = undefined;
      throw apiError(exchange, response, await response.body.text());
    } catch (error) {
      if (!(error instanceof KubeApiError)) this.#credentials = undefined;
      throw this.translate(error, exchange);
    }
  }

  /** Converts a transport error to an error for callers; also used for reads of the body. */
  translate(error: unknown, exchange: Exchange): unknown {
    if (exchange.signal?.aborted) return exchange.signal.reason;
    if (error instanceof KubeApiError || isDefect(error)) return error;
    const isUnsent = error instanceof Error && this.#unsent.has(error);
    return new KubeUnreachable(`${exchange.method} ${exchange.path}: no answer from the API server`, error, isUnsent);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([this.#pools?.requests.destroy(), this.#pools?.watches.destroy()]);
  }

  #readCredentials(endpoint: KubeEndpoint): Promise<Credentials> {
    const nowMs = performance.now();
    if (this.#credentials === undefined || nowMs - this.#credentials.readAtMs > credentialsMs)
      this.#credentials = { value: endpoint.readCredentials(), readAtMs: nowMs };
    return this.#credentials.value;
  }

  #poolsFor(endpoint: KubeEndpoint, tls: TlsOptions): Pools {
    if (this.#isClosed) throw new KubeUnreachable('the Kubernetes client is closed');
    if (this.#pools !== undefined && sameTls(this.#pools.tls, tls)) return this.#pools;
    // Requests and watches in progress finish on the old pools.
    for (const pool of [this.#pools?.requests, this.#pools?.watches]) void pool?.close();
    const options: Pool.Options = {
      // HTTP/2 takes twice the CPU time per request.
      allowH2: false,
      keepAliveTimeout: 60_000,
      connect: { ...tls, timeout: 5000, keepAlive: true, keepAliveInitialDelay: 30_000 },
    };
    this.#pools = {
      tls,
      requests: new Pool(endpoint.server.origin, { ...options, connections: requestConnections }),
      watches: new Pool(endpoint.server.origin, options),
    };
    for (const pool of [this.#pools.requests, this.#pools.watches])
      pool.on('connectionError', (_origin, _targets, error) => this.#unsent.add(error));
    return this.#pools;
  }
}

function apiError(exchange: Exchange, response: Dispatcher.ResponseData, body: string): KubeApiError {
  const status = parseStatus(body);
  const message =
    `${exchange.method} ${exchange.path}: ${response.statusCode} ${status.message ?? body.slice(0, 200)}`.trimEnd();
  const retryAfter = response.headers['retry-after'];
  const seconds = typeof retryAfter === 'string' && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
  return new KubeApiError(
    response.statusCode,
    status.reason ?? '',
    message,
    seconds === undefined ? undefined : seconds * 1000,
  );
}

/** Proxies and a starting API server answer with text instead of a Status object. */
export function parseStatus(body: string): { reason?: string; message?: string } {
  if (!body.startsWith('{')) return {};
  try {
    const { reason, message } = JSON.parse(body) as Record<string, unknown>;
    return { ...(typeof reason === 'string' ? { reason } : {}), ...(typeof message === 'string' ? { message } : {}) };
  } catch {
    return {};
  }
}

/** undici rejects wrong arguments with the same class as broken connections. */
function isDefect(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_INVALID_RETURN_VALUE' || error instanceof RangeError;
}

function sameTls(a: TlsOptions, b: TlsOptions): boolean {
  return (['ca', 'cert', 'key', 'servername', 'rejectUnauthorized'] as const).every((field) => a[field] === b[field]);
}
