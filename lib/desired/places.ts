/** The place of each wanted row of a transaction: an existing row, an adopted row, or a row to insert. */
import type { Atom, NamedUuid, Row, WriteValue } from 'ovsdb-client';
import { isNamed } from './compare.ts';
import { rowId } from './contributions.ts';
import { isInserted, type Draft, type Inserted, type Place } from './draft.ts';
import { isRef, type DesiredRow, type Ref, type Wanted } from './row.ts';
import type { Batch, Database } from './batch.ts';

export class Places {
  readonly #db: Database;
  readonly #draft: Draft;
  readonly #wantedBy: Batch['wantedBy'];
  readonly #found = new Map<DesiredRow, Place>();
  /** rowId of rows adopted by content: their key is not in the database yet. */
  readonly #adopted = new Map<string, Row>();
  readonly #taken = new Set<string>();

  constructor(database: Database, draft: Draft, wantedBy: Batch['wantedBy']) {
    this.#db = database;
    this.#draft = draft;
    this.#wantedBy = wantedBy;
  }

  /** Decides the place of `wanted`. */
  put(owner: string, wanted: DesiredRow): Place {
    const place = this.#db.find(wanted.table, wanted.key, owner) ?? this.#adopt(wanted);
    const put = place ?? this.#draft.insert(owner, wanted);
    this.#found.set(wanted, put);
    return put;
  }

  /** Undoes `put`; true if other owners may now lack a row that they need. */
  remove(wanted: DesiredRow): boolean {
    const place = this.#found.get(wanted);
    this.#found.delete(wanted);
    if (place === undefined) return false;
    if (isInserted(place)) this.#draft.forget(wanted);
    else if (this.#adopted.delete(rowId(wanted.table, wanted.key))) this.#taken.delete(place._uuid);
    else return false;
    return true;
  }

  of(wanted: DesiredRow): Place | undefined {
    return this.#found.get(wanted);
  }

  /** The row of any owner with this key. */
  resolve({ table, key }: { readonly table: string; readonly key: string }): Place | undefined {
    const there = this.#db.find(table, key, this.#wantedBy);
    if (there !== undefined || (this.#draft.inserted.size === 0 && this.#adopted.size === 0)) return there;
    const id = rowId(table, key);
    return this.#draft.inserted.get(id) ?? this.#adopted.get(id);
  }

  resolveUuid(ref: Ref['ref']): string | NamedUuid | undefined {
    const place = this.resolve(ref);
    return place === undefined ? undefined : uuidOf(place);
  }

  /** `wanted` with references replaced by uuids; values without any are returned as they are. */
  resolved(wanted: Wanted): WriteValue {
    if (typeof wanted !== 'object' || wanted === null) return wanted;
    if (isRef(wanted)) return this.#one(wanted);
    if (Array.isArray(wanted)) {
      const list = wanted as readonly (Atom | Ref)[];
      return list.some(isRef) ? list.map((atom) => this.#one(atom)) : (list as readonly Atom[]);
    }
    const entries = Object.entries(wanted as Readonly<Record<string, Atom | Ref>>);
    if (!entries.some(([, atom]) => isRef(atom))) return wanted as Readonly<Record<string, Atom>>;
    return Object.fromEntries(entries.map(([entry, atom]) => [entry, this.#one(atom)]));
  }

  #one(atom: Atom | Ref): Atom | NamedUuid {
    if (!isRef(atom)) return atom;
    const uuid = this.resolveUuid(atom.ref);
    if (uuid === undefined) throw new Error(`${atom.ref.table} "${atom.ref.key}" was admitted but is nowhere`);
    return uuid;
  }

  #adopt(wanted: DesiredRow): Row | undefined {
    if (wanted.adopts === undefined) return undefined;
    const parent = wanted.parent === undefined ? undefined : this.resolve(wanted.parent);
    const valueOf = (column: string): WriteValue | undefined => this.#comparable(wanted.columns[column]);
    const row = this.#db.adoption.find(wanted, valueOf, {
      parent: parent === undefined || isInserted(parent) ? undefined : parent,
      taken: this.#taken,
    });
    if (row === undefined) return undefined;
    this.#taken.add(row._uuid);
    this.#adopted.set(rowId(wanted.table, wanted.key), row);
    return row;
  }

  /** Unresolved references become a value that no row of the database can equal. */
  #comparable(value: Wanted | undefined): WriteValue | undefined {
    if (value === undefined) return undefined;
    const missing = firstRef(value, (ref) => this.resolve(ref) === undefined);
    return missing === undefined ? this.resolved(value) : { named: '' };
  }
}

/** The first reference in `wanted` of which `test` is true. */
export function firstRef(wanted: Wanted, test: (ref: Ref['ref']) => boolean): Ref['ref'] | undefined {
  if (typeof wanted !== 'object' || wanted === null) return undefined;
  if (isRef(wanted)) return test(wanted.ref) ? wanted.ref : undefined;
  const list = Array.isArray(wanted) ? (wanted as readonly (Atom | Ref)[]) : Object.values(wanted);
  for (const atom of list) if (isRef(atom) && test(atom.ref)) return atom.ref;
  return undefined;
}

export function uuidOf(place: Inserted | Row): string | NamedUuid {
  return isInserted(place) ? place.self : place._uuid;
}

export function isKnownUuid(uuid: string | NamedUuid | undefined): uuid is string {
  return uuid !== undefined && !isNamed(uuid);
}
