/**
 * Selects the owners of the next transaction: the first dirty owners, and with each the dirty owners of rows that it
 * needs, owners whose contributions lose a row with it, owners with contributions to a row to which its rows move, owners that
 * want an entry that it has, and owners whose plans say that they belong together, so that dependent changes are written together.
 */
import { rowId, type ContributedColumn } from './contributions.ts';
import { entryOf } from './entry-of.ts';
import { allOf } from './few.ts';
import { firstRef } from './places.ts';
import type { Plans } from './plans.ts';
import type { Desired, Ref } from './row.ts';

export interface Pending {
  readonly dirty: ReadonlyMap<string, unknown>;
  /** Owners in one batch, besides those that belong to them. */
  readonly size: number;
  readonly plans: Plans;
}

export function nextBatch(pending: Pending): readonly string[] {
  const batch = new Set<string>();
  const companions = new Companions(pending);
  for (const first of pending.dirty.keys()) {
    if (batch.size >= pending.size) break;
    const open = [first];
    for (let owner = open.pop(); owner !== undefined; owner = open.pop()) {
      if (batch.has(owner) || !pending.dirty.has(owner)) continue;
      batch.add(owner);
      if (pending.dirty.size > 1) open.push(...belongingTo(pending.plans, owner), ...companions.of(owner));
    }
  }
  return [...batch];
}

/** Dirty owners whose plans, before or after, belong together. */
class Companions {
  readonly #pending: Pending;
  #byText: Map<string, string[]> | undefined;

  constructor(pending: Pending) {
    this.#pending = pending;
  }

  of(owner: string): readonly string[] {
    const texts = this.#textsOf(owner);
    if (texts.length === 0) return texts;
    const byText = (this.#byText ??= this.#index());
    // Once they are in the batch, they need not be looked at again.
    return texts.flatMap((text) => {
      const owners = byText.get(text) ?? none;
      byText.delete(text);
      return owners;
    });
  }

  #textsOf(owner: string): readonly string[] {
    const { plans } = this.#pending;
    const [after, before] = [plans.desiredOf(owner)?.together, plans.appliedOf(owner)?.together];
    if (after === undefined && before === undefined) return none;
    return [...new Set([after, before])].filter((text) => text !== undefined);
  }

  #index(): Map<string, string[]> {
    const byText = new Map<string, string[]>();
    for (const owner of this.#pending.dirty.keys())
      for (const text of this.#textsOf(owner)) entryOf(byText, text, () => []).push(owner);
    return byText;
  }
}

const none: readonly string[] = [];

function belongingTo(plans: Plans, owner: string): readonly string[] {
  const [desired, applied] = [plans.desiredOf(owner), plans.appliedOf(owner)];
  const owners: string[] = [];
  const need = ({ table, key }: Ref['ref']): false => {
    const holder = plans.wantedBy(table, key);
    if (holder !== undefined && holder !== owner) owners.push(holder);
    return false;
  };
  for (const row of desired?.rows ?? []) {
    if (row.parent !== undefined) need(row.parent);
    for (const column in row.columns) firstRef(row.columns[column] ?? null, need);
  }
  for (const contribution of desired?.contributions ?? []) {
    need(contribution);
    firstRef(contribution.values ?? [], need);
  }
  if (applied !== undefined && applied !== desired)
    owners.push(...bereaved(plans, applied, desired), ...followed(plans, applied, desired));
  owners.push(...plans.rivalsOf(owner));
  return owners;
}

/** Owners with contributions to rows that are deleted: they move to another row in the same transaction. */
function bereaved({ contributions }: Plans, applied: Desired, desired: Desired | undefined): readonly string[] {
  const owners = new Set<string>();
  for (const { table, key } of applied.rows) {
    const columns = contributions.columnsOf(table, key);
    if (columns.length === 0 || desired?.rows.some((row) => row.key === key && row.table === table)) continue;
    addHolders(owners, columns);
  }
  return [...owners];
}

/** Owners with contributions to rows to which other rows move: what these say of the members is true for members of both rows throughout. */
function followed({ contributions }: Plans, applied: Desired, desired: Desired | undefined): readonly string[] {
  const before = parentsOf(applied);
  if (before.size === 0) return none;
  const owners = new Set<string>();
  for (const [id, { table, key }] of parentsOf(desired))
    if (!before.has(id)) addHolders(owners, contributions.columnsOf(table, key));
  return [...owners];
}

function parentsOf(desired: Desired | undefined): ReadonlyMap<string, Ref['ref']> {
  const parents = (desired?.rows ?? []).flatMap(({ parent }) => parent ?? []);
  return new Map(parents.map(({ table, key }) => [rowId(table, key), { table, key }]));
}

function addHolders(owners: Set<string>, columns: readonly ContributedColumn[]): void {
  for (const { holders } of columns)
    for (const few of holders.values()) for (const owner of allOf(few)) owners.add(owner);
}
