/**
 * A mirror of one kind. In: a selection and a parser. Out: a synchronous cache and its changes.
 * Callers: the rooms' `watch/`. Rules: a reflector never stops by itself. A broken stream is resumed from the last version
 * seen; after an expired version follow a full read and a diff. An optional kind that is not served is empty. Only defects
 * (a parser or a listener that throws) leave the reflector, as an unhandled rejection that ends the process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../run/backoff.ts';
import { listPages, selectionQuery } from './client.ts';
import { isKubeError, KubeApiError, KubeUnreachable } from './errors.ts';
import { Mirror } from './mirror.ts';
import type { Snapshot } from './mirror.ts';
import { collectionPath, keyOf } from './resources.ts';
import type { Reflector, ReflectorChange, ReflectorOptions, ReflectorTiming } from './types.ts';
import { decodeWatchEvent, UndecodableEvent, WatchFailed } from './watch-event.ts';
import type { WatchEvent } from './watch-event.ts';

const defaultTiming: ReflectorTiming = {
  baseMs: 800,
  // Each watch resumes this soon after an outage of the API server, however long it was.
  maxMs: 10_000,
  watchSeconds: 300,
  silenceMs: 150_000,
  absentMs: 30_000,
  random: Math.random,
};
/** Time past the requested end of a watch after which a silent watch counts as broken. */
const graceMs = 10_000;
/** A watch that ends sooner without an event counts as a failure: an immediate reconnect would flood the server. */
const shortestWatchMs = 1000;
/** Status codes of servers that do not support `sendInitialEvents`. */
const refusals = [400, 405, 406, 415, 422, 501];

/** With an older etcd (such as 3.4.23) the server begins the stream, then reports that etcd does not support progress notifications. */
function isRefusal(error: unknown): boolean {
  return error instanceof WatchFailed || (error instanceof KubeApiError && refusals.includes(error.status));
}

/** Starts mirroring at once. */
export function reflect<T>(options: ReflectorOptions<T>): Reflector<T> {
  return new WatchingReflector(options);
}

class WatchingReflector<T> implements Reflector<T> {
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions<T>;
  readonly #timing: ReflectorTiming;
  readonly #mirror: Mirror<T>;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #sync = Promise.withResolvers<void>();
  readonly #running: Promise<void>;
  /** Undefined: a full read is due. */
  #version: string | undefined;
  /** Failures since the last watch that delivered an event. */
  #failures = 0;
  #undecodable = 0;
  /** Consecutive answers that the optional kind is not served. */
  #absences = 0;
  #canWatchList = true;
  /** A full read by watch failed half way: the next full read is a list. */
  #listNext = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
    this.#mirror = new Mirror(options.parse);
    this.#signal =
      options.signal === undefined ? this.#stop.signal : AbortSignal.any([options.signal, this.#stop.signal]);
    this.synced = this.#sync.promise;
    // A rejection is for callers that wait; there may be none.
    this.synced.catch(() => undefined);
    this.#running = this.#run();
  }

  get size(): number {
    return this.#mirror.size;
  }

  get(key: string): T | undefined {
    return this.#mirror.get(key);
  }

  entries(): MapIterator<[string, T]> {
    return this.#mirror.entries();
  }

  subscribe(listener: (change: ReflectorChange<T>) => void): () => void {
    return this.#mirror.subscribe(listener);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new DOMException('the reflector was stopped', 'AbortError'));
    await this.#running;
  }

  async #run(): Promise<void> {
    // Listeners subscribe before the first change.
    await Promise.resolve();
    while (!this.#signal.aborted) {
      let delayMs = 0;
      try {
        await this.#round();
      } catch (error) {
        if (error === this.#signal.reason) break;
        delayMs = this.#recover(error);
      }
      // Only an abort ends the pause early, and it ends the loop too.
      if (delayMs > 0) await sleep(delayMs, undefined, { signal: this.#signal }).catch(() => undefined);
    }
    this.#sync.reject(this.#signal.reason);
  }

  /** One watch until it ends cleanly, after a list if needed. */
  async #round(): Promise<void> {
    if (this.#version === undefined) {
      if (!this.#listNext && (await this.#watchFromStart())) return;
      await this.#list();
    }
    await this.#watch();
  }

  /** A full read that continues as a watch. False: this server requires a list. */
  async #watchFromStart(): Promise<boolean> {
    if (!this.#canWatchList) return false;
    try {
      await this.#watch();
      return true;
    } catch (error) {
      if (this.#version !== undefined) throw error;
      this.#canWatchList = !isRefusal(error);
      if (!this.#canWatchList) return false;
      // A list may succeed where another watch would fail half way again.
      this.#listNext = !(error instanceof KubeApiError);
      throw error;
    }
  }

  async #list(): Promise<void> {
    const { client, resource } = this.#options;
    try {
      await this.#readPages(listPages(client, resource, this.#selection()));
    } catch (error) {
      if (!(error instanceof KubeApiError && error.isExpired)) throw error;
      // Reading the pages took longer than the server keeps old versions: only a single unpaged answer is consistent.
      await this.#readPages(listPages(client, resource, this.#selection(), 0));
    }
  }

  async #readPages(pages: ReturnType<typeof listPages>): Promise<void> {
    const snapshot: Snapshot<T> = new Map();
    let version = '';
    for await (const page of pages) {
      for (const item of page.items) this.#mirror.collect(snapshot, item);
      version = page.resourceVersion;
    }
    this.#become(snapshot, version);
  }

  async #watch(): Promise<void> {
    const seconds = Math.ceil(this.#timing.watchSeconds * (1 + this.#timing.random()));
    const silenceMs = Math.min(this.#timing.silenceMs, seconds * 1000 + graceMs);
    const startedMs = performance.now();
    const path = this.#watchPath(seconds);
    let initial: Snapshot<T> | undefined = this.#version === undefined ? new Map() : undefined;
    let count = 0;
    for await (const lines of this.#options.client.stream(path, { silenceMs, signal: this.#signal })) {
      for (const line of lines) {
        if (this.#signal.aborted) return;
        initial = this.#take(decodeWatchEvent(line), initial);
        count++;
      }
    }
    if (initial !== undefined) throw new KubeUnreachable(`GET ${path}: the watch ended before all objects were sent`);
    if (count === 0 && performance.now() - startedMs < shortestWatchMs)
      throw new KubeUnreachable(`GET ${path}: the watch ended at once`);
    this.#failures = 0;
  }

  /** Applies one event; returns the initial snapshot while it is incomplete. */
  #take(event: WatchEvent, initial: Snapshot<T> | undefined): Snapshot<T> | undefined {
    if (initial === undefined) {
      if (event.type === 'put') this.#mirror.put(event.object);
      else if (event.type === 'deleted') this.#mirror.delete(keyOf(event.object.metadata));
      this.#progress(event.type === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion);
      return undefined;
    }
    if (event.type === 'put') this.#mirror.collect(initial, event.object);
    else if (event.type === 'deleted') initial.delete(keyOf(event.object.metadata));
    else if (event.endsInitialEvents) {
      this.#become(initial, event.resourceVersion);
      return undefined;
    }
    return initial;
  }

  /** Does not count as progress: a server that answers each full read with "expired" must not be queried in a tight loop. */
  #become(snapshot: Snapshot<T>, version: string): void {
    this.#mirror.replace(snapshot);
    this.#version = version;
    this.#listNext = false;
    this.#absences = 0;
    this.#sync.resolve();
  }

  #progress(version: string): void {
    this.#version = version;
    this.#failures = 0;
    this.#undecodable = 0;
    this.#absences = 0;
  }

  /** Decides how to continue after a failure; returns the pause. Defects are thrown again. */
  #recover(error: unknown): number {
    if (!isKubeError(error) && !(error instanceof UndecodableEvent)) throw error;
    if (error instanceof KubeUnreachable && error.isSilence && this.#version !== undefined) {
      this.#options.log?.debug({ kind: this.#options.resource.kind }, 'watch was silent, resuming it');
      return 0;
    }
    if (this.#options.optional === true && error instanceof KubeApiError && error.status === 404) return this.#absent();
    const attempt = this.#failures++;
    const delayMs = backoffMs(attempt, this.#timing, this.#timing.random);
    this.#options.log?.warn(
      { kind: this.#options.resource.kind, failures: this.#failures, error: error.message },
      'watch broken, going on',
    );
    if (error instanceof UndecodableEvent) {
      // The same line failed again: only a full read skips it.
      if (++this.#undecodable > 1) this.#version = undefined;
    } else if (error instanceof KubeApiError) {
      // A version from the future is always refused: etcd was restored from a backup.
      const isStuck = error.isExpired || error.message.includes('Too large resource version');
      if (isStuck) this.#version = undefined;
      if (isStuck && attempt === 0) return 0;
      return Math.max(delayMs, error.retryAfterMs ?? 0);
    }
    return delayMs;
  }

  /** The optional kind is not served; returns the time until the next try. */
  #absent(): number {
    const { resource, log } = this.#options;
    this.#absences++;
    // Removing these objects would remove everything that depends on them. The server may only have registered the kind later than
    // others, so it is queried again.
    if (this.#mirror.size > 0 && this.#absences === 1) return this.#timing.baseMs;
    if (this.#version !== undefined || this.#absences === 1)
      log?.info({ kind: resource.kind, group: resource.group }, 'kind is not served, checking for it periodically');
    this.#mirror.replace(new Map());
    this.#version = undefined;
    this.#failures = 0;
    this.#sync.resolve();
    return this.#timing.absentMs;
  }

  #selection() {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return {
      signal: this.#signal,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  #watchPath(seconds: number): string {
    const query = new URLSearchParams({
      ...selectionQuery(this.#selection()),
      watch: '1',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
      ...(this.#version === undefined
        ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: this.#version }),
    });
    return `${collectionPath(this.#options.resource, this.#options.namespace)}?${query.toString()}`;
  }
}
