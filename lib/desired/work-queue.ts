/**
 * The queue of the target: dirty owners, and columns that may have members without a holder.
 * In: touches by plans and by changes of the database. Out: batches, and the oldest revision with pending work. No I/O.
 */
import type { Atom } from 'ovsdb-client';
import type { BuiltTransaction, Unheld } from './batch.ts';
import type { ColumnId } from './contributions.ts';
import { entryOf } from './entry-of.ts';
import { nextBatch } from './next-batch.ts';
import type { Plans } from './plans.ts';

export type UnheldColumns = readonly (readonly [ColumnId, Unheld])[];

export interface Task {
  readonly owners: readonly string[];
  readonly unheld: UnheldColumns;
}

/** Takes one owner out of a task. */
export function without({ owners, unheld }: Task, owner: string): readonly [others: Task, one: Task] {
  return [
    { owners: owners.filter((each) => each !== owner), unheld },
    { owners: [owner], unheld: [] },
  ];
}

/** Splits a task of more than one part into two smaller tasks. */
export function halvesOf({ owners, unheld }: Task): readonly [Task, Task] {
  if (owners.length > 0 && unheld.length > 0)
    return [
      { owners, unheld: [] },
      { owners: [], unheld },
    ];
  const [half, unheldHalf] = [owners.length >> 1, unheld.length >> 1];
  return [
    { owners: owners.slice(0, half), unheld: unheld.slice(0, unheldHalf) },
    { owners: owners.slice(half), unheld: unheld.slice(unheldHalf) },
  ];
}

/** Owner or column → the revision in which it was first touched. */
type Revisions = Map<string, number>;

export class WorkQueue {
  #revision = 0;
  readonly #owners: Revisions = new Map();
  readonly #columns: Revisions = new Map();
  /** In a task in progress. */
  readonly #taken: Revisions = new Map();
  readonly #unheld = new Map<ColumnId, 'all' | Set<Atom>>();
  /** rowId → owners that wait for the row */
  readonly #waiting = new Map<string, Set<string>>();
  /** Columns to clear once an owner's plan is applied. */
  readonly #deferred = new Map<string, Set<ColumnId>>();
  /** Owners whose rows another client keeps changing back: skipped until released. */
  readonly #held = new Set<string>();

  /** The revision of the latest change of a plan; new touches belong to it. */
  get revision(): number {
    return this.#revision;
  }

  /** The oldest revision with pending work; undefined if there is none. */
  get oldest(): number | undefined {
    let oldest = Infinity;
    for (const revisions of [this.#owners, this.#columns, this.#taken])
      for (const revision of revisions.values()) oldest = Math.min(oldest, revision);
    return oldest === Infinity ? undefined : oldest;
  }

  /** Starts a new revision, before plans change. */
  advance(): void {
    this.#revision += 1;
  }

  touch(owner: string): void {
    if (!this.#held.has(owner)) addOldest(this.#owners, owner, this.#revision);
  }

  touchColumn(id: ColumnId, atoms: Unheld | readonly Atom[]): void {
    const there = this.#unheld.get(id);
    if (atoms === 'all' || there === 'all') this.#unheld.set(id, 'all');
    else this.#unheld.set(id, new Set([...(there ?? []), ...atoms]));
    addOldest(this.#columns, id, this.#revision);
  }

  hold(owner: string): void {
    this.#held.add(owner);
    this.#owners.delete(owner);
  }

  release(owner: string): void {
    this.#held.delete(owner);
  }

  /** Must be called before the transaction is sent, because the transaction may insert the missing rows. */
  wait({ waiting, deferred }: BuiltTransaction): void {
    for (const [row, owners] of waiting)
      for (const owner of owners) entryOf(this.#waiting, row, () => new Set<string>()).add(owner);
    for (const [owner, columns] of deferred)
      for (const id of columns) entryOf(this.#deferred, owner, () => new Set<ColumnId>()).add(id);
  }

  /** The row was inserted or deleted. */
  wake(row: string): void {
    for (const owner of this.#waiting.get(row) ?? []) this.touch(owner);
    this.#waiting.delete(row);
  }

  /** The owner's plan is applied. */
  applied(owner: string): void {
    for (const id of this.#deferred.get(owner) ?? []) this.touchColumn(id, 'all');
    this.#deferred.delete(owner);
  }

  /** Nothing waits to be taken. */
  isEmpty(): boolean {
    return this.#owners.size === 0 && this.#unheld.size === 0;
  }

  /** Nothing waits, and no task is under way. */
  isDone(): boolean {
    return this.isEmpty() && this.#taken.size === 0;
  }

  take(size: number, plans: Plans): Task {
    const owners = nextBatch({ dirty: this.#owners, size, plans });
    for (const owner of owners) move(owner, this.#owners, this.#taken);
    // Columns come last: by then every owner's plan was tried, and its members are known.
    const unheld = this.#owners.size > 0 ? [] : [...this.#unheld];
    for (const [id] of unheld) {
      this.#unheld.delete(id);
      move(id, this.#columns, this.#taken);
    }
    return { owners, unheld };
  }

  putBack({ owners, unheld }: Task): void {
    for (const [id, atoms] of unheld) {
      this.touchColumn(id, atoms);
      move(id, this.#taken, this.#columns);
    }
    for (const owner of owners)
      if (this.#held.has(owner)) this.#taken.delete(owner);
      else move(owner, this.#taken, this.#owners);
  }

  /** The task was tried: its parts were applied or refused. */
  finish({ owners, unheld }: Task): void {
    for (const owner of owners) this.#taken.delete(owner);
    for (const [id] of unheld) this.#taken.delete(id);
  }
}

function addOldest(revisions: Revisions, key: string, revision: number): void {
  revisions.set(key, Math.min(revision, revisions.get(key) ?? Infinity));
}

function move(key: string, from: Revisions, to: Revisions): void {
  addOldest(to, key, from.get(key) ?? Infinity);
  from.delete(key);
}
