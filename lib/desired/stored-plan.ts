/**
 * Compact storage of plans. In: a plan as an owner returned it. Out: the same plan, readable any number of times. Tens of thousands
 * of owners each contribute a port to a few groups: for such a membership only the group's column and the port's name are stored, and
 * all contributors share the column's object.
 */
import type { Atom } from 'ovsdb-client';
import { ref, type Contribution, type Desired, isRef } from './row.ts';

/** A column to which owners contribute single members, with the form of the contribution. */
export interface SharedColumn {
  readonly table: string;
  readonly key: string;
  readonly column: string;
  /** The table of the member rows; undefined if members are plain values. */
  readonly refTable: string | undefined;
  readonly required: boolean | undefined;
}

/** Returns the shared object of equal columns. */
export type ShareColumn = (column: SharedColumn) => SharedColumn;

/** Columns and members in alternation; a contribution of any other form stands alone. */
type Parts = readonly (SharedColumn | Contribution | Atom | undefined)[];

export class StoredPlan implements Desired {
  readonly rows: Desired['rows'];
  readonly createdMs?: number;
  readonly together?: string;
  readonly #parts: Parts | undefined;

  constructor({ rows, contributions, createdMs, together }: Desired, share: ShareColumn) {
    // A copy has the least size: arrays that plans build up have room for sixteen more, of each owner.
    this.rows = rows.slice();
    this.#parts = contributions?.flatMap((one) => partsOf(one, share)).slice();
    if (createdMs !== undefined) this.createdMs = createdMs;
    if (together !== undefined) this.together = together;
  }

  get contributions(): readonly Contribution[] {
    const parts = this.#parts ?? [];
    const contributions: Contribution[] = [];
    for (let at = 0; at < parts.length; at += 2) {
      const [first, member] = [parts[at] as SharedColumn | Contribution, parts[at + 1] as Atom | undefined];
      contributions.push(
        member === undefined ? (first as Contribution) : contributionOf(first as SharedColumn, member),
      );
    }
    return contributions;
  }

  /** As its owner returned it. */
  plain(): Desired {
    const { rows, contributions, createdMs, together } = this;
    return {
      rows,
      ...(this.#parts === undefined ? {} : { contributions }),
      ...(createdMs === undefined ? {} : { createdMs }),
      ...(together === undefined ? {} : { together }),
    };
  }
}

/** Property names of the contributions that can be kept as a column and a member, in this order. */
const compactForms: ReadonlySet<string> = new Set(['table,key,column,values', 'table,key,column,values,required']);

function partsOf(contribution: Contribution, share: ShareColumn): Parts {
  const { table, key, column, values, required } = contribution;
  const [member] = values ?? [];
  const isCompact = values?.length === 1 && compactForms.has(Object.keys(contribution).join());
  if (member === undefined || !isCompact) return [contribution, undefined];
  const refTable = isRef(member) ? member.ref.table : undefined;
  return [share({ table, key, column, refTable, required }), isRef(member) ? member.ref.key : member];
}

function contributionOf({ table, key, column, refTable, required }: SharedColumn, member: Atom): Contribution {
  const values = [refTable === undefined ? member : ref(refTable, String(member))];
  return required === undefined ? { table, key, column, values } : { table, key, column, values, required };
}
