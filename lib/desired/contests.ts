/**
 * Decides which owner gets a map entry or a scalar that several owners want with different values.
 *
 * In: the bids of the owners. Out: the winner, or a problem for the others. The oldest owner wins; among owners of the
 * same age the owner whose value is in the database, then the first by name. The result survives a restart, because the
 * order of plans does not matter (ADR 37). Pure.
 */
import type { Value } from 'ovsdb-client';
import { isSameValue, type Bid, type BidsFor, type MemberValue } from './bids.ts';
import { isEqual, isMap } from './compare.ts';
import type { GivenMember, Member } from './contributions.ts';
import { isInserted } from './draft.ts';
import type { Places } from './places.ts';
import type { Problem } from './problem.ts';
import { isRef, type Contribution } from './row.ts';

export interface ContestContext {
  readonly bidsFor: BidsFor;
  readonly places: Places;
  /** Owners whose present plan is written with this transaction: entries that they leave are free. */
  readonly ready: { has(owner: string): boolean };
}

/** The winning bid; undefined if all agree. */
export function winnerOf(context: ContestContext, { contribution, member }: GivenMember): Bid | undefined {
  const bids = member.kind === 'member' ? undefined : context.bidsFor(contribution, member.id);
  const standing = bids?.filter(({ owner, isLeaving }) => !isLeaving || !context.ready.has(owner));
  if (standing === undefined) return undefined;
  const isThere = ({ value }: Bid): boolean => isInDatabase(context.places, { contribution, member }, value);
  return standing.toSorted(
    (a, b) =>
      (a.createdMs ?? 0) - (b.createdMs ?? 0) ||
      Number(isThere(b)) - Number(isThere(a)) ||
      (a.owner < b.owner ? -1 : 1),
  )[0];
}

/** Why `owner` does not get its value of an entry or scalar; undefined if it does. */
export function lossOf(context: ContestContext, owner: string, given: GivenMember): Problem | undefined {
  const winner = winnerOf(context, given);
  if (winner === undefined || winner.owner === owner || isSameValue(winner.value, given.member.value)) return undefined;
  const { table, key, column } = given.contribution;
  const name = given.member.kind === 'entry' ? `entry "${given.member.entry}" of ${column}` : column;
  return {
    code: 'EntryWantedTwice',
    message: `${name} in ${table} "${key}" belongs to ${winner.owner}, which comes first and wants another value; change one of the two`,
  };
}

export function isInDatabase(
  places: Places,
  { contribution, member }: { readonly contribution: Contribution; readonly member: Member },
  value: MemberValue,
): boolean {
  const place = places.resolve(contribution);
  const there: Value | undefined = place === undefined || isInserted(place) ? undefined : place[contribution.column];
  if (member.kind === 'entry') return ((isMap(there) ? there[member.entry] : undefined) ?? null) === value;
  const resolved = isRef(value) ? places.resolveUuid(value.ref) : value;
  return resolved !== undefined && isEqual(there, resolved);
}
