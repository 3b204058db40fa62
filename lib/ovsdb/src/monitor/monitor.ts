/**
 * Keeps the cache equal to the server: requests the best monitor method of the server, and applies its updates.
 * `start` is called once for each connection. The cache and the last transaction's id carry over, so that a server
 * that still knows this transaction sends only later changes.
 */
import type { MirroredDatabase } from '../cache/cache.ts';
import type { Change } from '../client-types.ts';
import { OvsdbProtocolError, OvsdbRequestRefused } from '../errors.ts';
import type { Session } from '../rpc/session.ts';
import { type MonitorPlan, monitorRequests } from './plan.ts';
import { changesOf, changesOfDump, type ReadRow, readUpdate, readUpdate2 } from './updates.ts';

/** Requests a whole dump: no transaction has this id. */
const noTransaction = '00000000-0000-0000-0000-000000000000';

/** A dump of a large database takes long; the probe checks whether the server is alive. */
const dumpTimeoutMs = 120_000;

const monitorId = 'mirror';

export interface MonitorNews {
  onChanges(changes: readonly Change[]): void;
  /** The cache equals the server; comes after the changes that made it so. */
  onSynced(): void;
}

export class Monitor {
  readonly #database: string;
  readonly #cache: MirroredDatabase;
  readonly #news: MonitorNews;
  #plan: MonitorPlan = new Map();
  #requests = '';
  #lastTransaction = noTransaction;

  constructor(database: string, cache: MirroredDatabase, news: MonitorNews) {
    this.#database = database;
    this.#cache = cache;
    this.#news = news;
  }

  /** Resolves when the cache equals the server. @throws as Session.call, OvsdbProtocolError */
  async start(session: Session, plan: MonitorPlan): Promise<void> {
    const requests = monitorRequests(plan, true);
    // The columns have changed: changes after the last transaction would not contain the new columns of old rows.
    const text = JSON.stringify(requests);
    if (text !== this.#requests) this.#lastTransaction = noTransaction;
    this.#plan = plan;
    this.#requests = text;
    const params = [this.#database, monitorId, requests];
    if (
      await this.#ask(session, 'monitor_cond_since', [...params, this.#lastTransaction], (reply) =>
        this.#takeSince(reply),
      )
    )
      return;
    if (await this.#ask(session, 'monitor_cond', params, (dump) => this.#takeDump(dump, readUpdate2))) return;
    await session.call('monitor', [this.#database, monitorId, monitorRequests(plan, false)], {
      timeoutMs: dumpTimeoutMs,
      take: (dump) => this.#takeDump(dump, readUpdate),
    });
  }

  /** False if the server does not know the method. */
  async #ask(
    session: Session,
    method: string,
    params: readonly unknown[],
    take: (result: unknown) => void,
  ): Promise<boolean> {
    try {
      await session.call(method, params, { timeoutMs: dumpTimeoutMs, take });
      return true;
    } catch (error) {
      if (error instanceof OvsdbRequestRefused && error.error === 'unknown method') return false;
      throw error;
    }
  }

  #takeSince(reply: unknown): void {
    const [found, id, updates] = list(reply);
    const changes = (found === true ? changesOf : changesOfDump)(this.#cache, this.#plan, updates, readUpdate2);
    this.#lastTransaction = transactionId(id);
    this.#tell(changes);
    this.#news.onSynced();
  }

  #takeDump(dump: unknown, read: ReadRow): void {
    this.#tell(changesOfDump(this.#cache, this.#plan, dump, read));
    this.#news.onSynced();
  }

  /** Handles a notification of the session; notifications of other monitors are ignored. @throws OvsdbProtocolError */
  receive(method: string, params: readonly unknown[]): void {
    if (params[0] !== monitorId) return;
    switch (method) {
      case 'update':
        return this.#tell(changesOf(this.#cache, this.#plan, params[1], readUpdate));
      case 'update2':
        return this.#tell(changesOf(this.#cache, this.#plan, params[1], readUpdate2));
      case 'update3': {
        const changes = changesOf(this.#cache, this.#plan, params[2], readUpdate2);
        this.#lastTransaction = transactionId(params[1]);
        return this.#tell(changes);
      }
      case 'monitor_canceled':
        throw new OvsdbProtocolError(`the server ended the monitor of ${this.#database}`);
      default:
    }
  }

  /** Makes the next `start` request a whole dump. */
  distrust(): void {
    this.#lastTransaction = noTransaction;
  }

  #tell(changes: readonly Change[]): void {
    if (changes.length === 0) return;
    this.#cache.apply(changes);
    this.#news.onChanges(changes);
  }
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new OvsdbProtocolError('a monitor reply is not a list');
  return value;
}

function transactionId(value: unknown): string {
  if (typeof value !== 'string') throw new OvsdbProtocolError('a transaction id is not a string');
  return value;
}
