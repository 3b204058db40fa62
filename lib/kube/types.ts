/** Types of the Kubernetes API for the rooms. Only this folder imports the Kubernetes client. */
import type { BackoffLimits } from '../run/backoff.ts';
import type { Logger } from '../run/logger.ts';

export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface ObjectName {
  readonly namespace?: string;
  readonly name: string;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly { readonly manager?: string }[];
  readonly ownerReferences?: readonly {
    readonly uid: string;
    readonly kind?: string;
    readonly name?: string;
    readonly controller?: boolean;
  }[];
}

/** An object parsed from JSON. Parse it further in `watch/` and keep no part of it. */
export interface RawObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** `strategic`: merges list members by their key; built-in kinds only. */
export type PatchKind = 'merge' | 'strategic' | 'json' | 'apply';

export interface WriteOptions {
  readonly subresource?: 'status';
  /** `metadata`: the answer contains only metadata, which saves work for the server and the caller. */
  readonly answer?: 'metadata';
  /** Field manager; by default the client's user agent. `apply` takes over fields of other managers. */
  readonly fieldManager?: string;
  readonly signal?: AbortSignal;
}

export interface KubeClient {
  get(resource: Resource, name: ObjectName, options?: { signal?: AbortSignal }): Promise<RawObject>;
  list(
    resource: Resource,
    options?: { namespace?: string; labelSelector?: string; fieldSelector?: string; signal?: AbortSignal },
  ): Promise<readonly RawObject[]>;
  create(resource: Resource, object: object, options?: WriteOptions): Promise<RawObject>;
  patch(
    resource: Resource,
    name: ObjectName,
    kind: PatchKind,
    body: unknown,
    options?: WriteOptions,
  ): Promise<RawObject>;
  /** Deletion of a missing object is not an error. */
  delete(resource: Resource, name: ObjectName, options?: { uid?: string; signal?: AbortSignal }): Promise<void>;
  /** Any other path, for example `/version`; an answer that is not JSON is returned as text. @throws KubeApiError {status, reason, message} */
  request(
    method: string,
    path: string,
    body?: unknown,
    options?: { contentType?: string; timeoutMs?: number; signal?: AbortSignal },
  ): Promise<unknown>;
  /**
   * A long answer, as batches of complete lines; ends when the server closes it.
   * @throws like `request`, and KubeUnreachable when `silenceMs` pass without a byte or the answer ends within a line
   */
  stream(path: string, options: { silenceMs: number; signal?: AbortSignal }): AsyncIterable<readonly string[]>;
  close(): Promise<void>;
}

export interface ReflectorChange<T> {
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export interface ReflectorOptions<T> {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The kind may not be served (404): then its mirror is empty, counts as synced, and queries the kind again later. */
  readonly optional?: boolean;
  /** Raw object → narrow immutable value. Must not throw on bad user input: problems are part of the value. */
  readonly parse: (raw: RawObject) => T;
  readonly signal?: AbortSignal;
  /** Called for every failure after which the mirror continues. */
  readonly log?: Logger;
  readonly timing?: Partial<ReflectorTiming>;
}

/** Times of the reflector; the defaults are for production, tests shorten them. */
export interface ReflectorTiming extends BackoffLimits {
  /** Shortest requested duration of a watch; the longest is twice that. */
  readonly watchSeconds: number;
  /**
   * A stream without a byte for this time is ended and resumed. API servers send a bookmark every minute, except with an
   * older etcd for kinds without any change.
   */
  readonly silenceMs: number;
  /** Time between two queries for an optional kind that is not served. */
  readonly absentMs: number;
  readonly random: () => number;
}

/** A mirror of one kind that never stops: it resumes after every failure with back-off, after 410 by relist and diff. */
export interface Reflector<T> {
  /** Resolves once the first full state was delivered; rejects with the abort's reason if stopped before. */
  readonly synced: Promise<void>;
  get(key: string): T | undefined;
  entries(): MapIterator<[string, T]>;
  readonly size: number;
  /** Listeners run synchronously, in order, and get only later changes. An exception in a listener crashes the process. */
  subscribe(listener: (change: ReflectorChange<T>) => void): () => void;
  stop(): Promise<void>;
}
