/**
 * The Kubernetes API for the rooms: plain JSON over one shared transport.
 * In: paths and objects. Out: raw objects that `watch/` parses. Callers: reflectors, writers, leases and the rooms'
 * main.ts. Rule: every error is a KubeApiError, a KubeUnreachable or the signal's reason.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../run/backoff.ts';
import { loadEndpoint, type KubeconfigDocument } from './config.ts';
import { KubeApiError, KubeUnreachable } from './errors.ts';
import { collectionPath, objectPath } from './resources.ts';
import { Transport } from './transport.ts';
import type { Answer, Exchange } from './transport.ts';
import type { KubeClient, ObjectName, PatchKind, RawObject, Resource, WriteOptions } from './types.ts';

const requestTimeoutMs = 30_000;
const defaultPatienceMs = 2000;
const pauses = { baseMs: 100, maxMs: 500 } as const;
/** Page size of a list. A page is parsed as a whole: larger pages are no faster, and parsing them grows the heap permanently. */
const pageSize = 100;
/** Servers without support for it send the whole object. */
const metadataOnly = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
const contentTypes: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

export interface KubeOptions {
  /** Path or content of the kubeconfig; without it the pod's service account is used. */
  readonly kubeconfig?: string | KubeconfigDocument | undefined;
  /** `isthmus-controller`: also the field manager of writes. */
  readonly userAgent: string;
  /**
   * How long a request is retried after a refused or lost connection, two seconds by default: a single refusal in a burst, or
   * while an API server is replaced, is not a failure. A request that may have reached the server is retried only if it reads.
   */
  readonly patienceMs?: number;
}

interface CallOptions {
  readonly contentType?: string;
  readonly answer?: 'metadata';
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Opens a client. The configuration is read with the first request, which throws KubeConfigError when it is unusable. */
export function openKube(options: KubeOptions): KubeClient {
  return new JsonClient(
    new Transport(() => loadEndpoint(options.kubeconfig, process.env), options.userAgent),
    options.userAgent,
    options.patienceMs ?? defaultPatienceMs,
  );
}

class JsonClient implements KubeClient {
  readonly #transport: Transport;
  readonly #fieldManager: string;
  readonly #patienceMs: number;

  constructor(transport: Transport, fieldManager: string, patienceMs: number) {
    this.#transport = transport;
    this.#fieldManager = fieldManager;
    this.#patienceMs = patienceMs;
  }

  async get(resource: Resource, name: ObjectName, options: CallOptions = {}): Promise<RawObject> {
    return (await this.request('GET', objectPath(resource, name), undefined, options)) as RawObject;
  }

  async list(
    resource: Resource,
    options: { namespace?: string; labelSelector?: string; fieldSelector?: string; signal?: AbortSignal } = {},
  ): Promise<readonly RawObject[]> {
    const items: RawObject[] = [];
    for await (const page of listPages(this, resource, options)) for (const item of page.items) items.push(item);
    return items;
  }

  async create(resource: Resource, object: object, options: WriteOptions = {}): Promise<RawObject> {
    const { namespace } = (object as Partial<RawObject>).metadata ?? {};
    if (resource.namespaced && namespace === undefined)
      throw new RangeError(`a new ${resource.kind} needs metadata.namespace`);
    const path = `${collectionPath(resource, namespace)}?fieldManager=${encodeURIComponent(options.fieldManager ?? this.#fieldManager)}`;
    return (await this.request('POST', path, object, options)) as RawObject;
  }

  async patch(
    resource: Resource,
    name: ObjectName,
    kind: PatchKind,
    body: unknown,
    options: WriteOptions = {},
  ): Promise<RawObject> {
    const query = new URLSearchParams({ fieldManager: options.fieldManager ?? this.#fieldManager });
    if (kind === 'apply') query.set('force', 'true');
    const path = `${objectPath(resource, name, options.subresource)}?${query.toString()}`;
    return (await this.request('PATCH', path, body, { ...options, contentType: contentTypes[kind] })) as RawObject;
  }

  async delete(
    resource: Resource,
    name: ObjectName,
    options: { uid?: string; signal?: AbortSignal } = {},
  ): Promise<void> {
    const body =
      options.uid === undefined
        ? undefined
        : { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: options.uid } };
    try {
      await this.request('DELETE', objectPath(resource, name), body, options);
    } catch (error) {
      if (!(error instanceof KubeApiError)) throw error;
      // A conflict means that the name belongs to another object now: the intended object no longer exists.
      const isGone = error.status === 404 || (error.status === 409 && options.uid !== undefined);
      if (!isGone) throw error;
    }
  }

  async request(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<unknown> {
    const timeoutMs = options.timeoutMs ?? requestTimeoutMs;
    const exchange: Exchange = {
      method,
      path,
      headersTimeoutMs: timeoutMs,
      bodyTimeoutMs: timeoutMs,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options.contentType === undefined ? {} : { contentType: options.contentType }),
      ...(options.answer === undefined ? {} : { accept: metadataOnly }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    };
    const answer = await this.#sendPatiently(exchange, Math.min(this.#patienceMs, timeoutMs));
    try {
      const text = await answer.body.text();
      return answer.isJson ? JSON.parse(text) : text;
    } catch (error) {
      throw this.#transport.translate(error, exchange);
    }
  }

  async #sendPatiently(exchange: Exchange, patienceMs: number): Promise<Answer> {
    const end = performance.now() + patienceMs;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#transport.send(exchange);
      } catch (error) {
        if (!(error instanceof KubeUnreachable) || !error.isTransient) throw error;
        if (!error.isUnsent && exchange.method !== 'GET') throw error;
        const pauseMs = backoffMs(attempt, pauses, Math.random);
        if (performance.now() + pauseMs > end) throw error;
        await untilNextAttempt(pauseMs, exchange.signal);
      }
    }
  }

  async *stream(path: string, options: { silenceMs: number; signal?: AbortSignal }): AsyncGenerator<readonly string[]> {
    const exchange: Exchange = {
      method: 'GET',
      path,
      isLong: true,
      headersTimeoutMs: Math.min(requestTimeoutMs, options.silenceMs),
      bodyTimeoutMs: options.silenceMs,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    };
    const { body } = await this.#transport.send(exchange);
    body.setEncoding('utf8');
    let rest = '';
    try {
      for await (const chunk of body as AsyncIterable<string>) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        if (lines.length > 0) yield lines;
      }
    } catch (error) {
      throw this.#transport.translate(error, exchange);
    }
    if (rest !== '') throw new KubeUnreachable(`GET ${path}: the answer ended within a line`);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

async function untilNextAttempt(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  // An abort ends the pause; the attempt that follows throws the signal's reason.
  await delay(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}

export interface Page {
  readonly items: readonly RawObject[];
  readonly resourceVersion: string;
}

interface Selection {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly signal?: AbortSignal;
}

/** The query parameters that select objects. */
export function selectionQuery(selection: Selection): Record<string, string> {
  return {
    ...(selection.labelSelector === undefined ? {} : { labelSelector: selection.labelSelector }),
    ...(selection.fieldSelector === undefined ? {} : { fieldSelector: selection.fieldSelector }),
  };
}

/** One consistent list in pages. @throws KubeApiError with `isExpired` when the list expired on the server between two pages */
export async function* listPages(
  client: Pick<KubeClient, 'request'>,
  resource: Resource,
  selection: Selection,
  limit = pageSize,
): AsyncGenerator<Page> {
  let token: string | undefined;
  do {
    const query = new URLSearchParams(selectionQuery(selection));
    if (limit > 0) query.set('limit', String(limit));
    if (token !== undefined) query.set('continue', token);
    const path = `${collectionPath(resource, selection.namespace)}?${query.toString()}`;
    const answer = await client.request(
      'GET',
      path,
      undefined,
      selection.signal === undefined ? {} : { signal: selection.signal },
    );
    const { items, metadata } = answer as {
      items?: RawObject[] | null;
      metadata?: { resourceVersion?: string; continue?: string };
    };
    token = metadata?.continue === '' ? undefined : metadata?.continue;
    yield { items: items ?? [], resourceVersion: metadata?.resourceVersion ?? '' };
  } while (token !== undefined);
}
