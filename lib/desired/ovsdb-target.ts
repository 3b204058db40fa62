/**
 * The one reconciler for OVSDB databases: makes the rows in the database those that owners want.
 *
 * In: `set(owner, desired)` from a room's plans, changes of the cache. Out: transactions, and per owner whether its
 * rows are there or why not. A burst of `set`s becomes one transaction; what already agrees is not written. Nothing
 * of an owner that has not planned yet is pruned before `seal()`. Rows of others are never written.
 */
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { OvsdbError, TransactionRejected, type Change, type OvsdbClient, type Row } from 'ovsdb-client';
import { keyColumn } from '../ovn/identity.ts';
import { keyOf as keyIn, ownerIdOf } from '../ovn/owner.ts';
import { Claims } from './claims.ts';
import { columnId, Contributions, type ColumnId, type ContributedColumn } from './contributions.ts';
import { entryOf } from './entry-of.ts';
import type { Problem } from './problem.ts';
import { RetryDelays } from './retry-delays.ts';
import type { Desired } from './row.ts';
import { RewriteGuard } from './rewrite-guard.ts';
import { RowIndex } from './row-index.ts';
import { schemaFacts } from './schema-facts.ts';
import { buildTransaction, rowId, type Database } from './transaction.ts';

export interface TargetLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface OvsdbTargetOptions {
  /** Its monitor must include every table and column the room writes, and their external_ids. */
  readonly client: OvsdbClient;
  /** Prefix of every owner id: `controller`, `daemon`, … */
  readonly room: string;
  readonly logger: TargetLogger;
  /** How long a burst is gathered. Default 5 ms. */
  readonly batchDelayMs?: number;
  /** Owners in one transaction at most. Default 500. */
  readonly batchSize?: number;
  /** For tables without external_ids: who owns a row (without the room), and its key. */
  readonly ownerOf?: (table: string, row: Row) => string | undefined;
  readonly keyOf?: (table: string, row: Row) => string | undefined;
  /** Told of each transaction: operations, owners, and milliseconds from sending to the reply. */
  readonly onTransaction?: (transaction: {
    readonly operations: number;
    readonly owners: number;
    readonly ms: number;
  }) => void;
}

/** Between tries where the server neither commits nor refuses; a lost connection takes longer to come back anyway. */
const unansweredDelayMs = 200;

export type ResultListener = (owner: string, problem: Problem | undefined) => void;

export interface OvsdbTarget {
  /** What `owner` (`<feature>/<key>`) wants from now on, instead of what it wanted before. */
  set(owner: string, desired: Desired): void;
  /** The owner wants nothing any more: its rows and contributions go. */
  drop(owner: string): void;
  /** All owners have planned once: rows of owners that did not are pruned, stale members of collected columns go. */
  seal(): void;
  /** Owners of this room that have rows in the database, without the room's name. */
  owners(): readonly string[];
  /** Resolves when everything set so far was applied or reported as a problem. */
  untilApplied(): Promise<void>;
  /** Called for every owner a transaction was made for: undefined when its rows are as wanted. */
  onResult(listener: ResultListener): () => void;
  close(): void;
}

export function openOvsdbTarget(options: OvsdbTargetOptions): OvsdbTarget {
  return new Target(options);
}

class Target implements OvsdbTarget {
  readonly #client: OvsdbClient;
  readonly #options: OvsdbTargetOptions;
  readonly #database: Database;
  readonly #index: RowIndex;
  readonly #desired = new Map<string, Desired>();
  readonly #applied = new Map<string, Desired>();
  readonly #claims = new Claims();
  readonly #contributions = new Contributions();
  readonly #collected = new Set<ColumnId>();
  readonly #dirtyOwners = new Set<string>();
  readonly #dirtyColumns = new Set<ColumnId>();
  readonly #waiting = new Map<string, Set<string>>();
  readonly #retries: RetryDelays;
  readonly #rewrites = new RewriteGuard();
  /** Owners in a fight over their rows: left alone until their retry. */
  readonly #held = new Set<string>();
  readonly #listeners = new Set<ResultListener>();
  readonly #idle: (() => void)[] = [];
  readonly #unsubscribe: (() => void)[] = [];
  #isSealed = false;
  #isRunning = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OvsdbTargetOptions) {
    this.#options = options;
    this.#client = options.client;
    const facts = schemaFacts(options.client.schema);
    const keyOf = (table: string, row: Row): string | undefined => keyIn(table, row) ?? options.keyOf?.(table, row);
    const ownerOf = (table: string, row: Row): string | undefined => {
      const known = options.ownerOf?.(table, row);
      return ownerIdOf(row) ?? (known === undefined ? undefined : this.#full(known));
    };
    this.#index = new RowIndex(options.client.cache, Object.keys(options.client.schema.tables), { keyOf, ownerOf });
    this.#database = {
      ...facts,
      keyOf,
      ownerOf,
      keyColumn,
      find: (table, key, owner) => this.#index.find(table, key, owner),
      ownedBy: (owner) => this.#index.ownedBy(owner),
    };
    this.#retries = new RetryDelays((owner) => {
      this.#held.delete(owner);
      this.#touch(owner);
    });
    this.#unsubscribe.push(options.client.subscribe((changes) => this.#changed(changes)));
    this.#unsubscribe.push(options.client.onState((state) => state === 'synced' && this.#schedule()));
  }

  set(owner: string, desired: Desired): void {
    this.#replace(this.#full(owner), desired);
  }

  drop(owner: string): void {
    this.#replace(this.#full(owner), undefined);
  }

  seal(): void {
    this.#isSealed = true;
    for (const owner of this.#index.owners()) if (this.#isOurs(owner)) this.#dirtyOwners.add(owner);
    for (const id of [...this.#contributions.ids(), ...this.#collected]) this.#dirtyColumns.add(id);
    this.#schedule();
  }

  owners(): readonly string[] {
    const prefix = this.#full('');
    return [...this.#index.owners()]
      .filter((owner) => owner.startsWith(prefix))
      .map((owner) => owner.slice(prefix.length));
  }

  untilApplied(): Promise<void> {
    if (this.#isSettled() && !this.#isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  onResult(listener: ResultListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#retries.clear();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #replace(owner: string, desired: Desired | undefined): void {
    const before = this.#desired.get(owner);
    if (desired === undefined) this.#desired.delete(owner);
    else this.#desired.set(owner, desired);
    for (const heir of this.#claims.replace(owner, before, desired)) this.#dirtyOwners.add(heir);
    for (const row of before?.rows ?? [])
      for (const column of row.collects ?? []) this.#collected.delete(columnId(row.table, row.key, column));
    for (const row of desired?.rows ?? [])
      for (const column of row.collects ?? []) this.#collected.add(columnId(row.table, row.key, column));
    for (const id of this.#contributions.set(owner, desired?.contributions ?? [])) this.#dirtyColumns.add(id);
    this.#retries.forget(owner);
    this.#rewrites.forget(owner);
    this.#held.delete(owner);
    this.#touch(owner);
  }

  #touch(owner: string): void {
    this.#dirtyOwners.add(owner);
    this.#schedule();
  }

  /** A change on a row of ours, by whomever, makes its owner dirty: building again for what agrees costs nothing. */
  #changed(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#index.update(change);
      for (const row of [change.before, change.after]) {
        if (row === undefined) continue;
        const owner = this.#database.ownerOf(change.table, row);
        if (owner !== undefined && this.#isToRepair(owner)) this.#dirtyOwners.add(owner);
        const key = this.#database.keyOf(change.table, row);
        if (key !== undefined) this.#wake(change, key);
      }
    }
    if (this.#dirtyOwners.size > 0 || this.#dirtyColumns.size > 0) this.#schedule();
  }

  #isToRepair(owner: string): boolean {
    return this.#isOurs(owner) && !this.#held.has(owner) && (this.#isSealed || this.#desired.has(owner));
  }

  #wake({ table, before, after }: Change, key: string): void {
    const id = rowId(table, key);
    const waiting = before === undefined || after === undefined ? this.#waiting.get(id) : undefined;
    for (const who of waiting ?? []) (who.includes('\0') ? this.#dirtyColumns : this.#dirtyOwners).add(who);
    if (waiting !== undefined) this.#waiting.delete(id);
    const columns = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
    for (const column of columns) {
      if (before?.[column] === after?.[column]) continue;
      const column_ = columnId(table, key, column);
      if (this.#contributions.column(column_) !== undefined || this.#collected.has(column_))
        this.#dirtyColumns.add(column_);
    }
  }

  #schedule(): void {
    if (this.#isRunning || this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#run();
    }, this.#options.batchDelayMs ?? 5);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (!this.#isClosed && this.#client.state === 'synced' && !this.#isSettled()) {
      for (const owner of this.#held) this.#dirtyOwners.delete(owner);
      const owners = [...this.#dirtyOwners].slice(0, this.#options.batchSize ?? 500);
      const columns = [...this.#dirtyColumns];
      for (const owner of owners) this.#dirtyOwners.delete(owner);
      this.#dirtyColumns.clear();
      await this.#apply(owners, columns);
    }
    this.#isRunning = false;
    if (this.#isSettled()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** One transaction; where the server refuses it, halves, down to the owner or column that is to blame. */
  async #apply(owners: readonly string[], columns: readonly ColumnId[]): Promise<void> {
    const wanted = new Map(
      owners.map((owner) => [owner, { desired: this.#desired.get(owner), applied: this.#applied.get(owner) }]),
    );
    const built = buildTransaction(this.#database, {
      owners: wanted,
      columns: columns.map((id) => this.#column(id)),
      wantedBy: (table, key) => this.#claims.holder(table, key),
      isOurs: (owner) => this.#isOurs(owner),
      isCollected: ({ table, key, column }) => this.#isSealed && this.#collected.has(columnId(table, key, column)),
    });
    for (const [row, who] of built.waiting)
      for (const one of who) entryOf(this.#waiting, row, () => new Set<string>()).add(one);
    const refused = await this.#transact(built.operations, owners.length);
    if (refused === 'lost') return this.#again(owners, columns);
    if (refused !== undefined && owners.length + columns.length > 1) {
      const [half, columnHalf] = [owners.length >> 1, columns.length >> 1];
      await this.#apply(owners.slice(0, half), columns.slice(0, columnHalf));
      return this.#apply(owners.slice(half), columns.slice(columnHalf));
    }
    for (const id of columns) this.#finishColumn(id, refused);
    for (const [owner, { desired, applied }] of wanted) {
      const rewritten = built.written.has(owner) && desired !== undefined && desired === applied;
      this.#finish(
        owner,
        desired,
        built.problems.get(owner) ?? refused ?? (rewritten ? this.#fought(owner) : undefined),
      );
    }
  }

  #column(id: ColumnId): ContributedColumn {
    const [table = '', key = '', column = ''] = id.split('\0');
    return this.#contributions.column(id) ?? { table, key, column, wanted: new Map(), gone: new Map() };
  }

  async #transact(
    operations: Parameters<OvsdbClient['transact']>[0],
    owners: number,
  ): Promise<Problem | 'lost' | undefined> {
    if (operations.length === 0) return undefined;
    const start = performance.now();
    try {
      await this.#client.transact(operations);
      this.#options.onTransaction?.({ operations: operations.length, owners, ms: performance.now() - start });
      return undefined;
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      if (error instanceof TransactionRejected)
        return { code: 'DatabaseRefused', message: `the database refused the rows: ${error.message}` };
      this.#options.logger.warn(
        { code: error.code },
        `a transaction of ${operations.length} operations had no answer: ${error.message}`,
      );
      await setTimeoutAsync(unansweredDelayMs);
      return 'lost';
    }
  }

  /** The write may have happened: after the re-sync only what is still missing is written. */
  #again(owners: readonly string[], columns: readonly ColumnId[]): void {
    for (const owner of owners) this.#dirtyOwners.add(owner);
    for (const id of columns) this.#dirtyColumns.add(id);
  }

  #fought(owner: string): Problem | undefined {
    if (!this.#rewrites.record(owner, performance.now())) return undefined;
    this.#held.add(owner);
    return {
      code: 'ChangedByAnother',
      message:
        'its rows were changed back again and again by another client of the database; find and stop that client',
    };
  }

  #finishColumn(id: ColumnId, refused: Problem | undefined): void {
    if (refused === undefined) return this.#contributions.settle(id);
    this.#options.logger.warn({ column: id.replaceAll('\0', ' '), reason: refused.code }, refused.message);
    this.#retries.retryColumn(id, () => {
      this.#dirtyColumns.add(id);
      this.#schedule();
    });
  }

  #finish(owner: string, desired: Desired | undefined, problem: Problem | undefined): void {
    if (problem === undefined) {
      this.#retries.forget(owner);
      if (desired === undefined) this.#applied.delete(owner);
      else this.#applied.set(owner, desired);
    } else if (problem.code === 'DatabaseRefused' || problem.code === 'ChangedByAnother') {
      this.#options.logger.warn({ owner, reason: problem.code }, problem.message);
      this.#retries.retry(owner);
    }
    const name = owner.slice(this.#options.room.length + 1);
    for (const listener of this.#listeners) listener(name, problem);
  }

  #isSettled(): boolean {
    return this.#dirtyOwners.size === 0 && this.#dirtyColumns.size === 0;
  }

  #full(owner: string): string {
    return `${this.#options.room}/${owner}`;
  }

  #isOurs(owner: string): boolean {
    return owner.startsWith(`${this.#options.room}/`);
  }
}
