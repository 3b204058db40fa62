/**
 * The reconciler for OVSDB databases: makes the rows in the database match the owners' plans.
 *
 * In: `set(owner, desired)` from a room's plans, changes of the cache. Out: transactions, and a result per owner: its
 * plan is written, or the problem. A burst of `set`s becomes one transaction; rows that already match are not written.
 * Rows of an owner without a plan are not pruned before `seal()`. Rows of other rooms and products are never written.
 */
import { setTimeout as setTimeoutAsync } from 'node:timers/promises';
import { OvsdbError, TransactionRejected, type Change, type Operation, type OvsdbClient } from 'ovsdb-client';
import { WorkQueue, halvesOf, without, type Task } from './work-queue.ts';
import { rowId, type ColumnId } from './contributions.ts';
import { indexDatabase, type DatabaseOptions } from './database.ts';
import { driftOf, memberNames } from './drift.ts';
import { instalmentOf, type InstalmentContext, type Instalments } from './instalment.ts';
import { Plans } from './plans.ts';
import type { Problem } from './problem.ts';
import { RetryDelays } from './retry-delays.ts';
import type { Desired } from './row.ts';
import { RewriteGuard } from './rewrite-guard.ts';
import type { RowIndex } from './row-index.ts';
import { RoundEngine } from '../rounds/engine.ts';
import { buildTransaction } from './transaction.ts';
import type { Database, OwnerBatch } from './batch.ts';
import type { StoredPlan } from './stored-plan.ts';

export interface TargetLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface TransactionReader {
  /** Part of every transaction: shows the reader that there is a new transaction. */
  readonly mark: Operation;
  /** Resolves when the reader has processed the marked transaction, or when the wait has timed out. */
  readonly untilTakenUp: () => Promise<void>;
}

export interface OvsdbTargetOptions extends DatabaseOptions {
  readonly logger: TargetLogger;
  /**
   * From the end of one transaction to the begin of the next, meanwhile changes are gathered. After a quiet time, a change waits only for
   * those of the same event. Default 5 ms.
   */
  readonly batchDelayMs?: number;
  /** Maximum number of owners in one transaction. Default 500. */
  readonly batchSize?: number;
  /**
   * Whether the first plans of all owners are one transaction, whatever its size: rows of one owner have become those of others, and what
   * they mean is true throughout. Asked once, when the first plans are set. Default false.
   */
  readonly isFirstWhole?: () => boolean;
  /** Owners with so many rows of these tables are written in several transactions. By default an owner is written in one. */
  readonly instalments?: Instalments;
  /**
   * A reader of the database that acknowledges each transaction in the database. The next transaction waits for this, so that
   * plans set in the meantime join it. By default there is no reader to wait for.
   */
  readonly reader?: TransactionReader;
  /** Called for each transaction with the number of operations and owners, and the milliseconds from request to reply. */
  readonly onTransaction?: (transaction: {
    readonly operations: number;
    readonly owners: number;
    readonly ms: number;
  }) => void;
}

/** Delay between tries when the server neither commits nor refuses, doubled each time; a lost connection takes longer to return anyway. */
const unanswered = { firstMs: 200, mostMs: 3200 } as const;

/** Owners that are taken out of one transaction, one after the other; if more are at fault, halves are faster. */
const mostIsolated = 3;
/** The transaction may be too large; what else the server says while it is out of order is not about the rows. */
const tooMuch = 'resources exhausted';

interface Refusal {
  readonly problem: Problem;
  /** Index of the operation at fault, if the server names one. */
  readonly operation: number | undefined;
}

/** The result of an owner's plan. */
interface Outcome {
  readonly desired: StoredPlan | undefined;
  readonly problem: Problem | undefined;
  /** The plan is in the database, possibly without entries that another owner has. */
  readonly isWritten: boolean;
}

export type ResultListener = (owner: string, problem: Problem | undefined) => void;

export interface OvsdbTarget {
  /** Replaces the plan of `owner` (`<feature>/<key>`). */
  set(owner: string, desired: Desired): void;
  /** Deletes the owner's plan with its rows and contributions. */
  drop(owner: string): void;
  /** The plan that was set last and not dropped. */
  desired(owner: string): Desired | undefined;
  /** All owners have planned once: prunes rows of owners without a plan and stale members of collected columns. */
  seal(): void;
  /** Owners of this room that have rows in the database, without the room's name. */
  owners(): readonly string[];
  /** The revision of the latest call of `set`, `drop` or `seal`. */
  readonly revision: number;
  /** Every plan set so far was applied or reported as a problem. */
  readonly isApplied: boolean;
  /** Resolves when every plan set up to this revision (default: the latest) was applied or reported as a problem. */
  untilApplied(revision?: number): Promise<void>;
  /** Called after an owner's plan was tried; the problem is undefined if its rows match. Called again after its rows were rewritten. */
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
  readonly #plans = new Plans();
  readonly #queue = new WorkQueue();
  readonly #retries: RetryDelays;
  readonly #rewrites = new RewriteGuard();
  /** Owners that lost an entry to another owner: a later write of the entry is not a repair after another client's change. */
  readonly #partial = new Set<string>();
  /** Owners whose present plan or last write was not reported to the listeners yet. */
  readonly #untold = new Set<string>();
  readonly #listeners = new Set<ResultListener>();
  #waiters: { readonly revision: number; readonly resolve: () => void }[] = [];
  readonly #unsubscribe: (() => void)[] = [];
  readonly #engine: RoundEngine;
  /** Whether all owners are one transaction; undefined before the first one. */
  #isWhole: boolean | undefined;
  /** Delay after the next transaction without an answer. */
  #unansweredMs: number = unanswered.firstMs;
  #isSealed = false;
  #isClosed = false;

  constructor(options: OvsdbTargetOptions) {
    this.#options = options;
    this.#client = options.client;
    const { database, index } = indexDatabase(options);
    this.#database = database;
    this.#index = index;
    this.#retries = new RetryDelays((owner) => {
      this.#queue.release(owner);
      this.#touch(owner);
    });
    const { batchDelayMs = 5 } = options;
    this.#engine = new RoundEngine({
      spacingMs: (tookMs) => tookMs + batchDelayMs,
      run: () => this.#run(),
    });
    this.#engine.start();
    this.#unsubscribe.push(options.client.subscribe((changes) => this.#changed(changes)));
    this.#unsubscribe.push(options.client.onState((state) => state === 'synced' && this.#schedule()));
  }

  set(owner: string, desired: Desired): void {
    this.#replace(this.#full(owner), desired);
  }

  drop(owner: string): void {
    this.#replace(this.#full(owner), undefined);
  }

  desired(owner: string): Desired | undefined {
    return this.#plans.desiredOf(this.#full(owner))?.plain();
  }

  seal(): void {
    this.#queue.advance();
    this.#isSealed = true;
    for (const owner of this.#index.owners())
      if (this.#isOurs(owner) && this.#plans.desiredOf(owner) === undefined) this.#queue.touch(owner);
    for (const id of this.#plans.contributions.collected()) this.#queue.touchColumn(id, 'all');
    this.#schedule();
  }

  owners(): readonly string[] {
    const prefix = this.#full('');
    return [...this.#index.owners()]
      .filter((owner) => owner.startsWith(prefix))
      .map((owner) => owner.slice(prefix.length));
  }

  get revision(): number {
    return this.#queue.revision;
  }

  get isApplied(): boolean {
    return this.#queue.isDone();
  }

  untilApplied(revision = this.revision): Promise<void> {
    // Pending work belongs to the present revision or an older one, so only older revisions need the search.
    const isApplied = revision < this.revision ? (this.#queue.oldest ?? Infinity) > revision : this.isApplied;
    if (isApplied) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ revision, resolve }));
  }

  onResult(listener: ResultListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    void this.#engine.close();
    this.#retries.clear();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #replace(owner: string, desired: Desired | undefined): void {
    this.#queue.advance();
    const { owners, columns } = this.#plans.replace(owner, desired);
    for (const heir of owners) this.#queue.touch(heir);
    if (this.#isSealed) for (const id of columns) this.#queue.touchColumn(id, 'all');
    this.#retries.forget(owner);
    this.#rewrites.forget(owner);
    this.#queue.release(owner);
    this.#untold.add(owner);
    this.#touch(owner);
  }

  #touch(owner: string): void {
    this.#queue.touch(owner);
    this.#schedule();
  }

  /** Any change of an owned row, by any client, makes its owner dirty: a rebuild of a matching plan yields no writes. */
  #changed(changes: readonly Change[]): void {
    for (const change of changes) this.#index.update(change);
    const context = {
      contributions: this.#plans.contributions,
      database: this.#database,
      nameOf: memberNames(this.#database, changes),
    };
    for (const change of changes) {
      for (const row of [change.before, change.after]) {
        const owner = row === undefined ? undefined : this.#database.ownerOf(change.table, row);
        if (owner !== undefined) this.#repair(owner);
      }
      if (change.before === undefined || change.after === undefined) this.#wake(change);
      const { owners, unheld } = driftOf(context, change);
      for (const owner of owners) this.#repair(owner);
      if (this.#isSealed) for (const [id, atoms] of unheld) this.#queue.touchColumn(id, atoms);
    }
    if (!this.#queue.isEmpty()) this.#schedule();
  }

  #repair(owner: string): void {
    const isToRepair = this.#isSealed || this.#plans.desiredOf(owner) !== undefined;
    if (this.#isOurs(owner) && isToRepair) this.#queue.touch(owner);
  }

  #wake({ table, before, after }: Change): void {
    const row = after ?? before;
    const key = row === undefined ? undefined : this.#database.keyOf(table, row);
    if (key !== undefined) this.#queue.wake(rowId(table, key));
  }

  #schedule(): void {
    this.#engine.request();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed && this.#client.state === 'synced' && !this.#queue.isEmpty()) {
      await this.#options.reader?.untilTakenUp();
      const { batchSize = 500, isFirstWhole } = this.#options;
      this.#isWhole ??= isFirstWhole?.() ?? false;
      await this.#apply(this.#queue.take(this.#isWhole ? Infinity : batchSize, this.#plans));
      // What had no answer is put back, and is the first one once more.
      if (this.#queue.isEmpty()) this.#isWhole = false;
      this.#resolveWaiters();
    }
  }

  #resolveWaiters(): void {
    if (this.#waiters.length === 0) return;
    const oldest = this.#queue.oldest ?? Infinity;
    for (const { revision, resolve } of this.#waiters) if (revision < oldest) resolve();
    this.#waiters = this.#waiters.filter(({ revision }) => revision >= oldest);
  }

  /**
   * Sends one transaction. If the server refuses it and says which operation is at fault, its owner is tried alone after all others, which stay together. Otherwise, or after many
   * such owners, sends its halves, down to the owner or column at fault.
   */
  async #apply(task: Task, isolated = 0): Promise<void> {
    const { owners, unheld } = task;
    const plans = this.#plans;
    const wanted = new Map(
      owners.map((owner) => [owner, { desired: plans.desiredOf(owner), applied: plans.appliedOf(owner) }]),
    );
    const parts = this.#partsOf(wanted);
    const built = buildTransaction(this.#database, {
      owners: new Map([...wanted, ...parts]),
      unheld: new Map(unheld),
      wantedBy: (table, key) => plans.wantedBy(table, key),
      isOurs: (owner) => this.#isOurs(owner),
      holdersOf: ({ table, key, column }) => plans.contributions.column(table, key, column)?.holders,
      bidsFor: (contribution, id) => plans.bidsFor(contribution, id),
      isPending: (owner) => plans.isPending(owner),
    });
    this.#queue.wait(built);
    const result = await this.#transact(built.draft.operations(), owners.length);
    // The write may have happened: after the re-sync, only remaining differences are written.
    if (result === 'lost') return this.#queue.putBack(task);
    const refused = result?.problem;
    if (refused !== undefined && owners.length + unheld.length > 1) {
      const atFault = result?.operation === undefined ? undefined : built.draft.ownerOf(result.operation);
      if (atFault !== undefined && wanted.has(atFault) && isolated < mostIsolated) {
        const [others, one] = without(task, atFault);
        await this.#apply(others, isolated + 1);
        return this.#apply(one);
      }
      for (const half of halvesOf(task)) await this.#apply(half, mostIsolated);
      return;
    }
    if (refused !== undefined) for (const [id] of unheld) this.#refuseColumn(id, refused);
    for (const [owner, { desired, applied }] of wanted) {
      if (parts.has(owner) && refused === undefined && !built.problems.has(owner)) {
        this.#queue.putBack({ owners: [owner], unheld: [] });
        continue;
      }
      const isRewritten = built.written.has(owner) && desired !== undefined && desired === applied;
      const isFought = isRewritten && refused === undefined && !this.#partial.has(owner);
      const loss = built.losses.get(owner);
      const problem = built.problems.get(owner) ?? refused ?? (isFought ? this.#fought(owner) : undefined) ?? loss;
      if (loss === undefined) this.#partial.delete(owner);
      else this.#partial.add(owner);
      if (built.written.has(owner)) this.#untold.add(owner);
      this.#finish(owner, { desired, problem, isWritten: problem === loss });
    }
    this.#queue.finish(task);
  }

  /** The owners whose plans are written in several transactions, with the next part of each. */
  #partsOf(wanted: ReadonlyMap<string, OwnerBatch>): ReadonlyMap<string, OwnerBatch> {
    const parts = new Map<string, OwnerBatch>();
    const { instalments } = this.#options;
    if (instalments === undefined) return parts;
    const context: InstalmentContext = {
      database: this.#database,
      wantedBy: (table, key) => this.#plans.wantedBy(table, key),
    };
    for (const [owner, { desired, applied }] of wanted) {
      const part = instalmentOf(context, owner, desired, instalments);
      if (part !== undefined) parts.set(owner, { desired: part, applied });
    }
    return parts;
  }

  async #transact(operations: readonly Operation[], owners: number): Promise<Refusal | 'lost' | undefined> {
    if (operations.length === 0) return undefined;
    const { reader } = this.#options;
    const start = performance.now();
    try {
      await this.#client.transact(reader === undefined ? operations : [...operations, reader.mark]);
      this.#options.onTransaction?.({ operations: operations.length, owners, ms: performance.now() - start });
      this.#unansweredMs = unanswered.firstMs;
      return undefined;
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      if (error instanceof TransactionRejected && (error.retry === 'never' || error.error === tooMuch)) {
        const problem = { code: 'DatabaseRefused', message: `the database refused the rows: ${error.message}` };
        return { problem, operation: error.operation };
      }
      this.#options.logger.warn(
        { code: error.code },
        `a transaction of ${operations.length} operations had no answer: ${error.message}`,
      );
      await setTimeoutAsync(this.#unansweredMs);
      this.#unansweredMs = Math.min(unanswered.mostMs, 2 * this.#unansweredMs);
      return 'lost';
    }
  }

  #fought(owner: string): Problem | undefined {
    if (!this.#rewrites.record(owner, performance.now())) return undefined;
    this.#queue.hold(owner);
    return {
      code: 'ChangedByAnother',
      message: 'its rows are changed back repeatedly by another client of the database; find and stop that client',
    };
  }

  #refuseColumn(id: ColumnId, refused: Problem): void {
    this.#options.logger.warn({ column: id.replaceAll('\0', ' '), reason: refused.code }, refused.message);
    this.#retries.retryColumn(id, () => {
      this.#queue.touchColumn(id, 'all');
      this.#schedule();
    });
  }

  #finish(owner: string, { desired, problem, isWritten }: Outcome): void {
    const isRepeated = problem === undefined && !this.#untold.has(owner);
    if (isWritten) {
      this.#retries.forget(owner);
      for (const heir of this.#plans.commit(owner, desired)) this.#repair(heir);
      this.#queue.applied(owner);
      if (this.#plans.desiredOf(owner) === desired) this.#untold.delete(owner);
    }
    if (problem !== undefined) {
      this.#untold.add(owner);
      if (problem.code === 'DatabaseRefused' || problem.code === 'ChangedByAnother') {
        this.#options.logger.warn({ owner, reason: problem.code }, problem.message);
        this.#retries.retry(owner);
      }
    }
    if (isRepeated) return;
    const name = owner.slice(this.#options.room.length + 1);
    for (const listener of this.#listeners) listener(name, problem);
  }

  #full(owner: string): string {
    // Joined, the text is in one piece; a template would keep its parts beside it in every map of thousands of keys.
    return [this.#options.room, owner].join('/');
  }

  #isOurs(owner: string): boolean {
    return owner.startsWith(`${this.#options.room}/`);
  }
}
