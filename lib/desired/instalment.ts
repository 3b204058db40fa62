/**
 * Divides the change of an owner with very many rows. In: the owner's plan, and its rows in the database. Out: a plan that differs
 * from the database in a limited number of rows. Pure. While a server executes one transaction of ten thousands of operations, it
 * answers nothing else, and clients give up its connection. Each instalment leaves the database consistent: rows that it delays are
 * of tables to whose rows no other row refers.
 */
import { rowId } from './contributions.ts';
import type { Batch, Database } from './batch.ts';
import type { Desired, DesiredRow } from './row.ts';

export interface Instalments {
  /** Tables of which owners may have very many rows. Rows of other tables do not refer to theirs, except as parents. */
  readonly tables: readonly string[];
  /** How many of these rows one transaction inserts and deletes at most for one owner. */
  readonly rows: number;
}

export interface InstalmentContext {
  readonly database: Pick<Database, 'find' | 'ownedBy' | 'keyOf'>;
  readonly wantedBy: Batch['wantedBy'];
}

/** The next part of the plan; undefined if the rest is small enough to be written as a whole. */
export function instalmentOf(
  { database, wantedBy }: InstalmentContext,
  owner: string,
  desired: Desired | undefined,
  { tables, rows: most }: Instalments,
): Desired | undefined {
  const wanted = desired?.rows ?? [];
  const owned = database.ownedBy(owner);
  if (wanted.length + owned.length <= most) return undefined;
  const isDivided = ({ table }: { readonly table: string }): boolean => tables.includes(table);
  const ids = new Set(wanted.map(({ table, key }) => rowId(table, key)));
  const gone: DesiredRow[] = [];
  for (const { table, row } of owned) {
    const key = database.keyOf(table, row);
    if (key === undefined || ids.has(rowId(table, key))) continue;
    // One that another owner wants passes to that owner.
    if (wantedBy(table, key) === undefined) gone.push({ table, key, columns: {} });
  }
  const missing = new Set(
    wanted.filter((row) => isDivided(row) && database.find(row.table, row.key, owner) === undefined),
  );
  const leaving = gone.filter(isDivided);
  if (leaving.length + missing.size <= most) return undefined;
  // What others refer to is deleted last, with the rest.
  const kept = [...gone.filter((row) => !isDivided(row)), ...leaving.slice(most)];
  const delayed = new Set([...missing].slice(Math.max(0, most - leaving.length)));
  return { ...planOf(desired), rows: [...kept, ...wanted.filter((row) => !delayed.has(row))] };
}

function planOf(desired: Desired | undefined): Omit<Desired, 'rows'> {
  if (desired === undefined) return {};
  const { contributions, createdMs } = desired;
  return {
    ...(contributions === undefined ? {} : { contributions }),
    ...(createdMs === undefined ? {} : { createdMs }),
  };
}
