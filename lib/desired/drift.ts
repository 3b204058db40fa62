/**
 * Effect of a row's change on the contributions to its columns: the owners whose members are missing now, and members
 * without a contributor. Compares only the column before and after, so that the echo of a write to a large column
 * costs one pass of identity comparisons.
 */
import type { Atom, Change, Row, Value } from 'ovsdb-client';
import { atomsOf, isMap, setDifference } from './compare.ts';
import {
  columnId,
  entryId,
  literalId,
  scalarId,
  type ColumnId,
  type Contributions,
  type MemberId,
} from './contributions.ts';
import { allOf } from './few.ts';
import { idsOf } from './membership.ts';
import type { Database } from './batch.ts';

/** Returns the ids with which a member of a column may be held. */
export type NameMember = (
  column: { readonly table: string; readonly column: string },
  atom: Atom,
) => readonly MemberId[];

/** Names members in the state after `changes`, also members that refer to a row deleted by them. */
export function memberNames(database: Database, changes: readonly Change[]): NameMember {
  let gone: Map<string, Row> | undefined;
  return ({ table, column }, atom) => {
    const refTable = database.refTableOf(table, column);
    if (refTable === undefined) return [literalId(atom)];
    let row = database.row(refTable, String(atom));
    if (row === undefined) {
      gone ??= new Map(changes.flatMap((change) => goneRow(change)));
      row = gone.get(String(atom));
    }
    return idsOf(database, refTable, { atom, row });
  };
}

function goneRow({ uuid, before, after }: Change): readonly (readonly [string, Row])[] {
  return before !== undefined && after === undefined ? [[uuid, before]] : [];
}

export interface DriftContext {
  readonly contributions: Contributions;
  readonly database: Database;
  readonly nameOf: NameMember;
}

export interface Drift {
  /** Owners whose members must be checked again. */
  readonly owners: Iterable<string>;
  /** Members of collected columns without a holder. */
  readonly unheld: ReadonlyMap<ColumnId, readonly Atom[]>;
}

const none: Drift = { owners: [], unheld: new Map() };

export function driftOf(context: DriftContext, { table, before, after }: Change): Drift {
  const key = after === undefined ? undefined : context.database.keyOf(table, after);
  if (after === undefined || key === undefined) return none;
  const columns = context.contributions.columnsOf(table, key);
  if (columns.length === 0) return none;
  const same = before !== undefined && context.database.keyOf(table, before) === key ? before : undefined;
  const owners = new Set<string>();
  const byColumn = new Map<ColumnId, readonly Atom[]>();
  for (const { column, holders, collectors } of columns) {
    const [old, now] = [same?.[column], after[column]];
    if (same !== undefined && old === now) continue;
    const idsOf = (atom: Atom): readonly MemberId[] => context.nameOf({ table, column }, atom);
    const { touched, added } = differenceOf(old, now, { idsOf, isNew: same === undefined, held: holders.keys() });
    for (const id of touched) for (const owner of allOf(holders.get(id))) owners.add(owner);
    const unheld = collectors === 0 ? [] : added.filter((atom) => !idsOf(atom).some((id) => holders.has(id)));
    if (unheld.length > 0) byColumn.set(columnId(table, key, column), unheld);
  }
  return { owners, unheld: byColumn };
}

interface ColumnDrift {
  /** Members whose holders must be processed again. */
  readonly touched: Iterable<MemberId>;
  /** Added members, or a map's entries by name. */
  readonly added: readonly Atom[];
}

function differenceOf(
  old: Value | undefined,
  now: Value | undefined,
  column: {
    readonly idsOf: (atom: Atom) => readonly MemberId[];
    readonly isNew: boolean;
    readonly held: Iterable<MemberId>;
  },
): ColumnDrift {
  if (isMap(now)) {
    const was = isMap(old) ? old : {};
    const changed = Object.keys({ ...was, ...now }).filter((entry) => was[entry] !== now[entry]);
    const touched = column.isNew ? column.held : changed.map(entryId);
    return { touched, added: changed.filter((entry) => Object.hasOwn(now, entry)) };
  }
  const there = atomsOf(now);
  const { added, removed } = setDifference(atomsOf(old), there);
  if (!column.isNew) return { touched: [scalarId, ...removed.flatMap(column.idsOf)], added };
  const present = new Set(there.flatMap(column.idsOf));
  return { touched: [...column.held].filter((id) => !present.has(id)), added };
}
