/**
 * Which of several owners has an entry of a map, or a scalar, that they want with different values.
 *
 * In: what each of them wants. Out: the one that has it, or a problem of the others. The oldest has it; of owners of
 * the same age the one whose value the database holds, then the first by name. All of this survives a restart: the
 * order in which plans come has no say (ADR 37). Pure.
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
  /** Owners whose present plan is written with this transaction: what they leave is free. */
  readonly ready: { has(owner: string): boolean };
}

/** The bid that counts; undefined where all agree. */
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

/** Why `owner` does not get what it wants of an entry or scalar; undefined where it does. */
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
