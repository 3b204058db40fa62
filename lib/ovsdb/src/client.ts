import { MirroredDatabase } from './cache/cache.ts';
import type {
  Change,
  ConnectionState,
  Operation,
  OperationResult,
  OvsdbClient,
  OvsdbOptions,
  StateListener,
  TransactOptions,
} from './client-types.ts';
import { Emitter } from './emitter.ts';
import {
  OvsdbConnectionLost,
  OvsdbError,
  OvsdbProtocolError,
  OvsdbRequestRefused,
  TransactionRejected,
} from './errors.ts';
import { ServerStatus } from './leader/server-status.ts';
import { Monitor } from './monitor/monitor.ts';
import { planMonitor } from './monitor/plan.ts';
import { type ClientSettings, parseRemotes, settle } from './options.ts';
import { Backoff } from './rpc/backoff.ts';
import type { Remote } from './rpc/remote.ts';
import { openSession, type Session } from './rpc/session.ts';
import { parseSchema } from './schema/parse.ts';
import type { DatabaseSchema } from './schema/schema.ts';
import { encodeOperation } from './transact/operations.ts';
import { decodeResults } from './transact/results.ts';

/** After a connection that was in sync for less than this, the waits between attempts continue to grow. */
const lastingMs = 5000;
/** Members of a cluster elect a leader within a second or two; during this time attempts are frequent. */
const electionMs = 5000;
const electionPauseMs = 100;

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Connects to a database and mirrors it; resolves when first in sync, however long that takes.
 * @throws TypeError on options that cannot work; the signal's reason.
 */
export async function openOvsdb(options: OvsdbOptions): Promise<OvsdbClient> {
  options.signal?.throwIfAborted();
  const client = new MirroringClient(options, settle(options));
  await client.synced();
  return client;
}

class MirroringClient implements OvsdbClient {
  readonly cache: MirroredDatabase;
  readonly #options: OvsdbOptions;
  readonly #settings: ClientSettings;
  readonly #monitor: Monitor;
  readonly #changes = new Emitter<[readonly Change[]]>();
  readonly #states = new Emitter<[ConnectionState, Error | undefined]>();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  readonly #onAbort: () => void;
  #remotes: readonly Remote[];
  #waiters: Waiter[] = [];
  #state: ConnectionState = 'disconnected';
  #schema: DatabaseSchema | undefined;
  #session: Session | undefined;
  #syncedAt: number | undefined;

  constructor(options: OvsdbOptions, settings: ClientSettings) {
    this.#options = options;
    this.#settings = settings;
    this.#remotes = settings.remotes;
    this.cache = new MirroredDatabase(options.indexes ?? {});
    this.#monitor = new Monitor(options.database, this.cache, {
      onChanges: (changes) => this.#changes.emit(changes),
      onSynced: () => this.#onSynced(),
    });
    if (options.onState !== undefined) this.onState(options.onState);
    this.#onAbort = () => this.#closing.abort(options.signal?.reason);
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#running = this.#run();
  }

  get schema(): DatabaseSchema {
    if (this.#schema === undefined) throw new TypeError('the schema is known once the client is in sync');
    return this.#schema;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  synced(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closedError());
    if (this.#state === 'synced') return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  async transact(operations: readonly Operation[], options: TransactOptions = {}): Promise<readonly OperationResult[]> {
    options.signal?.throwIfAborted();
    const { schema } = this;
    if (this.#session === undefined || this.#state !== 'synced')
      throw new OvsdbConnectionLost(`not connected to ${this.#options.database}`);
    const params = [this.#options.database, ...operations.map((operation) => encodeOperation(operation, schema))];
    try {
      const reply = await this.#session.call('transact', params, { ...options, take: (result) => result });
      return decodeResults(reply, operations, schema);
    } catch (error) {
      if (error instanceof OvsdbRequestRefused)
        throw new TransactionRejected({ error: error.error, details: error.details });
      throw error;
    }
  }

  subscribe(listener: (changes: readonly Change[]) => void): () => void {
    return this.#changes.on(listener);
  }

  onState(listener: StateListener): () => void {
    return this.#states.on(listener);
  }

  async close(): Promise<void> {
    this.#closing.abort(new OvsdbConnectionLost(`the client of ${this.#options.database} was closed`));
    await this.#running;
  }

  /** Tries the remotes in turn, one round after the other, until closed. */
  async #run(): Promise<void> {
    const backoff = new Backoff();
    const { signal } = this.#closing;
    let next = 0;
    /** Time since which members answer but none is the leader. */
    let leaderlessAt: number | undefined;
    while (!signal.aborted) {
      let reason: Error | undefined;
      let isLeaderless = false;
      const remotes = this.#currentRemotes();
      for (let tried = 0; tried < remotes.length && !(signal.aborted as boolean); tried++) {
        reason = await this.#connect(remotes[next++ % remotes.length] as Remote);
        isLeaderless ||= reason instanceof OvsdbConnectionLost && reason.isElsewhere;
        if (this.#syncedAt !== undefined) break;
      }
      const now = performance.now();
      if (this.#syncedAt !== undefined && now - this.#syncedAt > lastingMs) backoff.reset();
      leaderlessAt = isLeaderless && this.#syncedAt === undefined ? (leaderlessAt ?? now) : undefined;
      this.#syncedAt = undefined;
      this.#enter('disconnected', (signal.aborted as boolean) ? this.#closedError() : reason);
      const isElection = leaderlessAt !== undefined && now - leaderlessAt < electionMs;
      await pause(isElection ? electionPauseMs : backoff.next(), signal);
    }
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(this.#closedError());
  }

  /** An unusable list is reported, and the former list stays in use. */
  #currentRemotes(): readonly Remote[] {
    try {
      this.#remotes = parseRemotes(this.#options);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.#enter('disconnected', error);
    }
    return this.#remotes;
  }

  /** Follows one server until the connection ends; returns the reason. */
  async #connect(remote: Remote): Promise<OvsdbError> {
    this.#enter('connecting');
    try {
      return await this.#follow(remote);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      return error;
    }
  }

  async #follow(remote: Remote): Promise<OvsdbError> {
    const { signal } = this.#closing;
    let status: ServerStatus | undefined;
    const session = await openSession({
      remote,
      tls: this.#options.tls,
      probeIntervalMs: this.#settings.probeIntervalMs,
      signal,
      onNotification: (method, params) => {
        status?.receive(method, params);
        this.#monitor.receive(method, params);
      },
    });
    const onClose = (): void => session.end(this.#closedError());
    signal.addEventListener('abort', onClose, { once: true });
    try {
      if (signal.aborted) onClose();
      this.#session = session;
      status = new ServerStatus(session, { database: this.#options.database, leaderOnly: this.#settings.leaderOnly });
      await status.watch();
      this.#schema = parseSchema(
        await session.call('get_schema', [this.#options.database], { take: (result) => result }),
      );
      await this.#monitor.start(session, planMonitor(this.#schema, this.#options.monitor, this.#options.where));
      return this.#judge(await session.ended);
    } catch (error) {
      // If a request failed because the session ended, the reason of that end explains more.
      throw error instanceof OvsdbConnectionLost && error.cause instanceof OvsdbError
        ? this.#judge(error.cause)
        : error;
    } finally {
      signal.removeEventListener('abort', onClose);
      session.end(new OvsdbConnectionLost(`left ${remote.text}`));
      this.#session = undefined;
    }
  }

  /** After an invalid message the cache is not updated further but compared with a whole dump. */
  #judge(reason: OvsdbError): OvsdbError {
    if (reason instanceof OvsdbProtocolError) this.#monitor.distrust();
    return reason;
  }

  #onSynced(): void {
    this.#syncedAt = performance.now();
    this.#enter('synced');
    for (const waiter of this.#waiters.splice(0)) waiter.resolve();
  }

  #enter(state: ConnectionState, reason?: Error): void {
    if (state === this.#state && reason === undefined) return;
    this.#state = state;
    this.#states.emit(state, reason);
  }

  #closedError(): OvsdbError {
    const { reason } = this.#closing.signal as { reason: unknown };
    return reason instanceof OvsdbError
      ? reason
      : new OvsdbConnectionLost(`the client of ${this.#options.database} was aborted`, { cause: reason });
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
