/** Decides which owners of a batch are written, and why the others are not. */
import { entryOf } from './entry-of.ts';
import { isContestable } from './bids.ts';
import { lossOf, type ContestContext } from './contests.ts';
import { membersOf, rowId } from './contributions.ts';
import { isInserted } from './draft.ts';
import { firstRef, type Places } from './places.ts';
import type { Problem } from './problem.ts';
import type { Contribution, Desired, DesiredRow, Ref } from './row.ts';
import type { Batch, Database, OwnerBatch } from './batch.ts';

export interface Admission {
  readonly ready: ReadonlyMap<string, OwnerBatch>;
  readonly problems: Map<string, Problem>;
  /** Missing rows: `rowId` → owners that need the row. */
  readonly waiting: Map<string, Set<string>>;
}

/** Excludes owners that may not have a row or that need a missing row, and owners that need rows of excluded owners. */
export function admit(database: Database, batch: Batch, places: Places): Admission {
  const problems = new Map<string, Problem>();
  const waiting = new Map<string, Set<string>>();
  const ready = new Map<string, OwnerBatch>();
  for (const [owner, wanted] of batch.owners) {
    const problem = refusal(database, batch, { owner, rows: wanted.desired?.rows ?? [] });
    if (problem === undefined) ready.set(owner, wanted);
    else problems.set(owner, problem);
  }
  for (const [owner, { desired }] of ready) for (const row of desired?.rows ?? []) places.put(owner, row);
  for (let isSettled = false; !isSettled;) {
    isSettled = true;
    for (const [owner, { desired, applied }] of ready) {
      if (desired === undefined) continue;
      const missing = missingFor(desired, places);
      const loss =
        missing === undefined ? lossFor(owner, desired, { bidsFor: batch.bidsFor, places, ready }) : undefined;
      if (missing === undefined && loss === undefined) continue;
      ready.delete(owner);
      // Entries that this owner would have released stay taken: admitted owners may depend on them.
      if (applied !== desired && applied?.contributions?.some(isContestable) === true) isSettled = false;
      for (const row of desired.rows) if (places.remove(row)) isSettled = false;
      if (loss !== undefined) problems.set(owner, loss);
      if (missing === undefined) continue;
      entryOf(waiting, rowId(missing.table, missing.key), () => new Set<string>()).add(owner);
      const message = `${missing.table} "${missing.key}", which its rows need, is not in the database yet`;
      problems.set(owner, { code: 'WaitingForRow', message });
    }
  }
  return { ready, problems, waiting };
}

function refusal(
  database: Database,
  batch: Batch,
  { owner, rows }: { readonly owner: string; readonly rows: readonly DesiredRow[] },
): Problem | undefined {
  for (const { table, key } of rows) {
    const first = batch.wantedBy(table, key);
    if (first !== undefined && first !== owner) {
      return {
        code: 'RowWantedTwice',
        message: `${table} "${key}" is already wanted by ${first}; one of the two must have another name`,
      };
    }
    const row = database.find(table, key, owner);
    const holder = row === undefined ? undefined : database.ownerOf(table, row);
    if (holder !== undefined && !batch.isOurs(holder)) {
      return { code: 'RowOfAnother', message: `${table} "${key}" belongs to ${holder}; it is left as it is` };
    }
  }
  return undefined;
}

function missingFor(desired: Desired, places: Places): Ref['ref'] | undefined {
  const isMissing = (ref: Ref['ref']): boolean => places.resolve(ref) === undefined;
  for (const row of desired.rows) {
    if (row.parent !== undefined && isMissing(row.parent)) return row.parent;
    for (const column in row.columns) {
      const missing = firstRef(row.columns[column] ?? null, isMissing);
      if (missing !== undefined) return missing;
    }
    const place = row.initial === undefined ? undefined : places.of(row);
    if (place === undefined || !isInserted(place)) continue;
    for (const value of Object.values(row.initial ?? {})) {
      const missing = firstRef(value, isMissing);
      if (missing !== undefined) return missing;
    }
  }
  for (const contribution of desired.contributions ?? []) {
    const missing = contribution.required === true ? missingOf(contribution, isMissing) : undefined;
    if (missing !== undefined) return missing;
  }
  return undefined;
}

/** Why a contribution that the owner's rows need cannot be made. */
function lossFor(owner: string, desired: Desired, context: ContestContext): Problem | undefined {
  for (const contribution of desired.contributions ?? []) {
    if (contribution.required !== true || !isContestable(contribution)) continue;
    for (const member of membersOf(contribution)) {
      const loss = lossOf(context, owner, { contribution, member });
      if (loss !== undefined) return loss;
    }
  }
  return undefined;
}

function missingOf(contribution: Contribution, isMissing: (ref: Ref['ref']) => boolean): Ref['ref'] | undefined {
  if (isMissing(contribution)) return contribution;
  return firstRef(contribution.values ?? [], isMissing) ?? firstRef(contribution.value ?? null, isMissing);
}
