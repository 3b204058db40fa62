/** The Kubernetes API as the rooms see it. Only this folder imports the Kubernetes client. */
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
  readonly ownerReferences?: readonly { readonly uid: string; readonly kind?: string; readonly name?: string }[];
}

/** An object as JSON gave it; parse it at the edge, keep nothing of it. */
export interface RawObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** `strategic`: members of lists by their key, of built-in kinds only. */
export type PatchKind = 'merge' | 'strategic' | 'json' | 'apply';

export interface WriteOptions {
  readonly subresource?: 'status';
  /** `metadata`: no more of the object is wanted back, which spares the server and the caller the rest. */
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
  /** Deleting what is not there is no error. */
  delete(resource: Resource, name: ObjectName, options?: { uid?: string; signal?: AbortSignal }): Promise<void>;
  /** Any other path, for example `/version`; an answer that is no JSON comes as text. @throws KubeApiError {status, reason, message} */
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
  /** The kind may not be served (404): then it is mirrored as empty, counts as synced, and is looked for again. */
  readonly optional?: boolean;
  /** Raw object → narrow immutable value. Must not throw on bad user input: problems are part of the value. */
  readonly parse: (raw: RawObject) => T;
  readonly signal?: AbortSignal;
  /** Told of every failure that is survived. */
  readonly log?: Logger;
  readonly timing?: Partial<ReflectorTiming>;
}

/** Times of the reflector; the defaults suit production, tests shorten them. */
export interface ReflectorTiming extends BackoffLimits {
  /** Shortest wish for a watch's life; the longest is twice that. */
  readonly watchSeconds: number;
  /**
   * A stream without a byte for so long is given up and resumed. API servers send a bookmark every minute; only
   * for kinds of which nothing ever changed, on an older etcd, they do not.
   */
  readonly silenceMs: number;
  /** Time between two looks for an optional kind that is not served. */
  readonly absentMs: number;
  readonly random: () => number;
}

/** A mirror of one kind that never stops: every failure is resumed with back-off, 410 by relist and diff. */
export interface Reflector<T> {
  /** Resolves once the first full state was delivered; rejects with the abort's reason when stopped before. */
  readonly synced: Promise<void>;
  get(key: string): T | undefined;
  entries(): MapIterator<[string, T]>;
  readonly size: number;
  /** Listeners run synchronously, in order, and hear only what comes after; an exception of theirs crashes the process. */
  subscribe(listener: (change: ReflectorChange<T>) => void): () => void;
  stop(): Promise<void>;
}
