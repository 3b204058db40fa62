/** The values that owners want for the entries and scalars that they contribute to. Pure. */
import type { Atom } from 'ovsdb-client';
import { scalarId, type MemberId } from './contributions.ts';
import { isRef, type Contribution, type Desired, type Ref } from './row.ts';

export type MemberValue = Atom | Ref | null;

/** The value that an owner wants for a contested entry or scalar. */
export interface Bid {
  readonly owner: string;
  readonly value: MemberValue;
  readonly createdMs: number | undefined;
  /** The owner's present plan no longer wants it, but its former value is still in the database. */
  readonly isLeaving: boolean;
}

/** The bids for an entry or scalar if they disagree; undefined if they agree. */
export type BidsFor = (contribution: Contribution, id: MemberId) => readonly Bid[] | undefined;

/** The value that a plan wants for an entry or scalar; undefined if the plan does not contribute to it. */
export function wantedIn(
  desired: Desired | undefined,
  { table, key, column }: Contribution,
  id: MemberId,
): { readonly value: MemberValue } | undefined {
  for (const one of desired?.contributions ?? []) {
    if (one.column !== column || one.key !== key || one.table !== table) continue;
    if (id === scalarId && one.value !== undefined) return { value: one.value };
    const value = id === scalarId ? undefined : one.entries?.[id.slice(1)];
    if (value !== undefined) return { value };
  }
  return undefined;
}

/** Whether several owners can want this with different values. */
export function isContestable({ entries, value }: Contribution): boolean {
  return entries !== undefined || value !== undefined;
}

export function isSameValue(a: MemberValue, b: MemberValue): boolean {
  if (!isRef(a) || !isRef(b)) return a === b;
  return a.ref.table === b.ref.table && a.ref.key === b.ref.key;
}
