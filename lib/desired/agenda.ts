/**
 * What the target has to look at next: owners, and columns with members that nobody may have given.
 * In: touches, by plans and by changes of the database. Out: batches. No I/O.
 */
import type { Atom } from 'ovsdb-client';
import type { ColumnId } from './contributions.ts';
import { entryOf } from './entry-of.ts';
import { nextBatch } from './next-batch.ts';
import type { Plans } from './plans.ts';
import type { BuiltTransaction, Strays } from './batch.ts';

export type ColumnStrays = readonly (readonly [ColumnId, Strays])[];

export interface Task {
  readonly owners: readonly string[];
  readonly strays: ColumnStrays;
}

/** A task of more than one part as two smaller ones. */
export function halvesOf({ owners, strays }: Task): readonly [Task, Task] {
  if (owners.length > 0 && strays.length > 0)
    return [
      { owners, strays: [] },
      { owners: [], strays },
    ];
  const [half, strayHalf] = [owners.length >> 1, strays.length >> 1];
  return [
    { owners: owners.slice(0, half), strays: strays.slice(0, strayHalf) },
    { owners: owners.slice(half), strays: strays.slice(strayHalf) },
  ];
}

export class Agenda {
  readonly #owners = new Set<string>();
  readonly #strays = new Map<ColumnId, 'all' | Set<Atom>>();
  /** rowId → owners that wait for the row */
  readonly #waiting = new Map<string, Set<string>>();
  /** Columns to clear once an owner's plan is applied. */
  readonly #deferred = new Map<string, Set<ColumnId>>();
  /** Owners in a fight over their rows: left alone until released. */
  readonly #held = new Set<string>();

  touch(owner: string): void {
    if (!this.#held.has(owner)) this.#owners.add(owner);
  }

  touchColumn(id: ColumnId, atoms: Strays | readonly Atom[]): void {
    const there = this.#strays.get(id);
    if (atoms === 'all' || there === 'all') this.#strays.set(id, 'all');
    else this.#strays.set(id, new Set([...(there ?? []), ...atoms]));
  }

  hold(owner: string): void {
    this.#held.add(owner);
    this.#owners.delete(owner);
  }

  release(owner: string): void {
    this.#held.delete(owner);
  }

  /** To be called before the transaction is sent: what is waited for may come with it. */
  wait({ waiting, deferred }: BuiltTransaction): void {
    for (const [row, owners] of waiting)
      for (const owner of owners) entryOf(this.#waiting, row, () => new Set<string>()).add(owner);
    for (const [owner, columns] of deferred)
      for (const id of columns) entryOf(this.#deferred, owner, () => new Set<ColumnId>()).add(id);
  }

  /** The row came or went. */
  wake(row: string): void {
    for (const owner of this.#waiting.get(row) ?? []) this.touch(owner);
    this.#waiting.delete(row);
  }

  /** The owner's plan is applied. */
  applied(owner: string): void {
    for (const id of this.#deferred.get(owner) ?? []) this.#strays.set(id, 'all');
    this.#deferred.delete(owner);
  }

  isEmpty(): boolean {
    return this.#owners.size === 0 && this.#strays.size === 0;
  }

  take(size: number, plans: Plans): Task {
    const owners = nextBatch({ dirty: this.#owners, size, plans });
    for (const owner of owners) this.#owners.delete(owner);
    // Columns come last: by then every owner's plan was tried, and what it holds stands.
    const strays = this.#owners.size > 0 ? [] : [...this.#strays];
    for (const [id] of strays) this.#strays.delete(id);
    return { owners, strays };
  }

  putBack({ owners, strays }: Task): void {
    for (const owner of owners) this.touch(owner);
    for (const [id, atoms] of strays) this.touchColumn(id, atoms);
  }
}
