/**
 * Writes the contributions of the admitted owners, removes their former contributions, and clears collected columns
 * of members without a contributor. The cost depends on the members of these owners, not on the size of the column.
 */
import type { Atom, Row } from 'ovsdb-client';
import { isSameValue, type BidsFor } from './bids.ts';
import { atomsOf, hasMember, isEqual, isMap, isNamed } from './compare.ts';
import { isInDatabase, lossOf, winnerOf } from './contests.ts';
import {
  type ColumnName,
  entryId,
  fullId,
  type GivenMember,
  literalId,
  type MemberId,
  membersOf,
  referenceId,
  rowId,
  withdrawn,
} from './contributions.ts';
import { isInserted, type Draft, type Place } from './draft.ts';
import { entryOf } from './entry-of.ts';
import { countOf } from './few.ts';
import { uuidOf, type Places } from './places.ts';
import type { Problem } from './problem.ts';
import { isRef, type Contribution, type Ref } from './row.ts';
import type { Batch, Database, OwnerBatch, Unheld } from './batch.ts';

export interface MembershipContext {
  readonly database: Database;
  readonly batch: Batch;
  readonly draft: Draft;
  readonly places: Places;
  readonly waiting: Map<string, Set<string>>;
  /** Owners whose plans are written with this transaction. */
  readonly ready: ReadonlyMap<string, OwnerBatch>;
  readonly bidsFor: BidsFor;
}

/**
 * Adds the contributions of `owner` that the database lacks. Contributions to a missing row wait for the row. Returns
 * the problem of the first entry or scalar that another owner has with another value.
 */
export function contribute(
  context: MembershipContext,
  owner: string,
  contributions: readonly Contribution[],
): Problem | undefined {
  let problem: Problem | undefined;
  for (const contribution of contributions) {
    const place = context.places.resolve(contribution);
    for (const member of membersOf(contribution)) {
      const given = { contribution, member };
      const loss = member.kind === 'member' ? undefined : lossOf(context, owner, given);
      problem ??= loss;
      if (loss === undefined && place !== undefined) give(context, owner, { place, given });
    }
  }
  return problem;
}

function give(
  context: MembershipContext,
  owner: string,
  { place, given }: { readonly place: Place; readonly given: GivenMember },
): void {
  const { draft } = context;
  const { table, column } = given.contribution;
  const { member } = given;
  const there = isInserted(place) ? undefined : place[column];
  if (member.kind === 'entry') {
    const entries = isMap(there) ? there : {};
    if (member.value !== null && entries[member.entry] !== member.value)
      draft.putEntry(table, place, column, [member.entry, member.value]);
    else if (member.value === null && !isInserted(place) && Object.hasOwn(entries, member.entry))
      draft.removeEntry(table, place, column, member.entry);
    return;
  }
  const value = isRef(member.value) ? context.places.resolveUuid(member.value.ref) : member.value;
  if (value === undefined) return wait(context, owner, member.value as Ref);
  if (member.kind === 'scalar') {
    if (isInserted(place) || !isEqual(there, value)) draft.write(table, place, column, value);
  } else if (value !== null && (isNamed(value) || !hasMember(there, value)))
    draft.addMember(table, place, column, value);
}

function wait({ waiting }: MembershipContext, owner: string, { ref }: Ref): void {
  entryOf(waiting, rowId(ref.table, ref.key), () => new Set<string>()).add(owner);
}

/** Removes former contributions of the admitted owners that no other owner contributes. */
export function withdraw(context: MembershipContext): readonly string[] {
  const leaving = new Map<string, { readonly given: GivenMember; readonly owners: string[] }>();
  for (const [owner, { desired, applied }] of context.ready) {
    if (applied === desired) continue;
    for (const given of withdrawn(applied?.contributions, [desired?.contributions])) {
      const id = fullId(given.contribution, given.member.id);
      entryOf(leaving, id, () => ({ given, owners: [] as string[] })).owners.push(owner);
    }
  }
  const written: string[] = [];
  for (const { given, owners } of leaving.values()) {
    const holders = context.batch.holdersOf(given.contribution);
    if (countOf(holders?.get(given.member.id)) > owners.length && !isLeftBehind(context, given)) continue;
    const before = context.draft.writes;
    takeBack(context, given);
    if (context.draft.writes > before) written.push(...owners);
  }
  return written;
}

/** Whether the database has this value, and no owner that still wants the entry or scalar writes its own value now. */
function isLeftBehind(context: MembershipContext, given: GivenMember): boolean {
  const winner = winnerOf(context, given);
  if (winner === undefined || given.member.kind === 'member' || context.ready.has(winner.owner)) return false;
  return !isSameValue(winner.value, given.member.value) && isInDatabase(context.places, given, given.member.value);
}

function takeBack({ database, draft, places }: MembershipContext, { contribution, member }: GivenMember): void {
  const { table, column } = contribution;
  const place = places.resolve(contribution);
  if (place === undefined || isInserted(place)) return;
  const there = place[column];
  if (member.kind === 'entry') {
    if (isMap(there) && Object.hasOwn(there, member.entry)) draft.removeEntry(table, place, column, member.entry);
  } else if (member.kind === 'scalar') {
    const empty = database.emptyOf(table, column);
    if (!isEqual(there, empty)) draft.write(table, place, column, empty);
  } else {
    const found = isRef(member.value) ? places.resolve(member.value.ref) : member.value;
    const value = typeof found === 'object' ? uuidOf(found) : found;
    if (value !== undefined && !isNamed(value) && hasMember(there, value))
      draft.removeMember(table, place, column, value);
  }
}

/**
 * Removes members without a contributor from a collected column. A row of an owner whose present plan is not applied
 * yet stays: a port that waits for its new group must not lose its old group in the meantime. Returns those owners.
 */
export function clear(context: MembershipContext, { table, key, column }: ColumnName, unheld: Unheld): Set<string> {
  const { database, batch, draft, places } = context;
  const waitedFor = new Set<string>();
  const place = places.resolve({ table, key });
  if (place === undefined || isInserted(place)) return waitedFor;
  const holders = batch.holdersOf({ table, key, column });
  const there = place[column];
  if (isMap(there)) {
    const entries = unheld === 'all' ? Object.keys(there) : [...unheld].map(String);
    for (const entry of entries)
      if (Object.hasOwn(there, entry) && holders?.has(entryId(entry)) !== true)
        draft.removeEntry(table, place, column, entry);
    return waitedFor;
  }
  const refTable = database.refTableOf(table, column);
  const candidates = unheld === 'all' ? atomsOf(there) : [...unheld].filter((atom) => hasMember(there, atom));
  for (const atom of candidates) {
    const row = refTable === undefined ? undefined : database.row(refTable, String(atom));
    if (holders !== undefined && idsOf(database, refTable, { atom, row }).some((id) => holders.has(id))) continue;
    const owner = row === undefined || refTable === undefined ? undefined : claimant(context, refTable, row);
    // The room that owns a row also decides which groups it is in.
    if (owner !== undefined && !batch.isOurs(owner)) continue;
    if (owner !== undefined && batch.isPending(owner)) waitedFor.add(owner);
    else draft.removeMember(table, place, column, atom);
  }
  return waitedFor;
}

/** The owner of the row, or the owner that wants to adopt it. */
function claimant({ database, batch }: MembershipContext, table: string, row: Row): string | undefined {
  const key = database.keyOf(table, row);
  return database.ownerOf(table, row) ?? (key === undefined ? undefined : batch.wantedBy(table, key));
}

/** The ids with which a member of a column may be held. */
export function idsOf(
  database: Pick<Database, 'keyOf'>,
  refTable: string | undefined,
  { atom, row }: { readonly atom: Atom; readonly row: Row | undefined },
): readonly MemberId[] {
  const key = row === undefined || refTable === undefined ? undefined : database.keyOf(refTable, row);
  return key === undefined || refTable === undefined
    ? [literalId(atom)]
    : [referenceId(refTable, key), literalId(atom)];
}
