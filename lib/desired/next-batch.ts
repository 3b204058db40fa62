/**
 * Selects the owners of the next transaction: the first dirty owners, and with each the dirty owners of rows that it
 * needs, owners whose contributions lose a row with it, and owners that want an entry that it has, so that dependent
 * changes are written together.
 */
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
  for (const first of pending.dirty.keys()) {
    if (batch.size >= pending.size) break;
    const open = [first];
    for (let owner = open.pop(); owner !== undefined; owner = open.pop()) {
      if (batch.has(owner) || !pending.dirty.has(owner)) continue;
      batch.add(owner);
      if (pending.dirty.size > 1) open.push(...belongingTo(pending.plans, owner));
    }
  }
  return [...batch];
}

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
  if (applied !== undefined && applied !== desired) owners.push(...bereaved(plans, applied, desired));
  owners.push(...plans.rivalsOf(owner));
  return owners;
}

/** Owners with contributions to rows that are deleted: they move to another row in the same transaction. */
function bereaved({ contributions }: Plans, applied: Desired, desired: Desired | undefined): readonly string[] {
  const owners = new Set<string>();
  for (const { table, key } of applied.rows) {
    const columns = contributions.columnsOf(table, key);
    if (columns.length === 0 || desired?.rows.some((row) => row.key === key && row.table === table)) continue;
    for (const { holders } of columns)
      for (const few of holders.values()) for (const owner of allOf(few)) owners.add(owner);
  }
  return [...owners];
}
