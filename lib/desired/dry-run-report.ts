/** Turns an unsent transaction into a report of values, without uuids and in a stable order. */
import type { Atom, NamedUuid, Row, Value, WriteValue } from 'ovsdb-client';
import { externalId, vendor } from '../api/names.ts';
import { externalIdOf } from '../ovn/owner.ts';
import { atomsOf, isMap, isNamed } from './compare.ts';
import type { Problem } from './problem.ts';
import { isInserted, type Additions, type Changed, type Draft, type Inserted, type Place } from './draft.ts';
import type { BuiltTransaction, Database } from './batch.ts';

export interface DryRunReport {
  /** One change per row, ordered by table and key. */
  readonly changes: readonly DryRunChange[];
  /** Rows of Kube-OVN that no plan wants, and rows without ids inside rows of Isthmus; ordered by table and key. */
  readonly leftAlone: readonly LeftAloneRow[];
  /** Owners whose rows or entries could not be written, by owner. */
  readonly problems: readonly { readonly owner: string; readonly problem: Problem }[];
}

/** In values, a reference to a row is shown as the key of that row if it has one. */
export interface DryRunChange {
  /** `adopt`: an unowned row gets an owner and is updated; `mutate`: only members of sets or maps are added and removed. */
  readonly action: 'insert' | 'adopt' | 'update' | 'delete' | 'mutate';
  readonly table: string;
  /** The row's name, or its isthmus-key, or its description. */
  readonly key: string;
  /** Without the room; undefined for an unowned row. */
  readonly owner?: string;
  /** Columns written as a whole; `from` is absent for an insert. */
  readonly columns: Readonly<Record<string, ColumnChange>>;
  /** Members of sets, and `name=value` of maps, that are added and removed one by one. */
  readonly members: Readonly<Record<string, MembersChange>>;
  /** The parent row, if the row is newly put into it. */
  readonly parent?: { readonly table: string; readonly key: string; readonly column: string };
}

export interface ColumnChange {
  readonly from?: Value;
  readonly to: Value;
}

export interface MembersChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export interface LeftAloneRow {
  readonly table: string;
  /** Empty if the row has no name. */
  readonly key: string;
  /** Some of its columns, and its parent: `priority 31000, match ip4.dst == 10.0.0.0/8 in Logical_Router ovn-cluster`. */
  readonly description: string;
}

export interface ReportContext {
  readonly database: Database;
  readonly tables: readonly string[];
  readonly rows: (table: string) => Iterable<Row>;
  /** The owner without the room. */
  readonly nameOf: (owner: string) => string;
}

export function reportOf({ draft, problems, losses }: BuiltTransaction, context: ReportContext): DryRunReport {
  const report = new Report(draft, context);
  return {
    changes: report.changes().sort(byTableAndKey),
    leftAlone: report.leftAlone().sort(byTableAndKey),
    problems: [...problems, ...losses]
      .map(([owner, problem]) => ({ owner: context.nameOf(owner), problem }))
      .sort((a, b) => compare(a.owner, b.owner)),
  };
}

class Report {
  readonly #draft: Draft;
  readonly #context: ReportContext;
  readonly #inserted: ReadonlyMap<string, Inserted>;
  /** By uuid: the new parent of an existing row. */
  readonly #parents = new Map<string, NonNullable<DryRunChange['parent']>>();
  /** Children added to a column: reported with the child, not as the parent's members. */
  readonly #children = new Map<Place, Set<string | NamedUuid>>();

  constructor(draft: Draft, context: ReportContext) {
    this.#draft = draft;
    this.#context = context;
    this.#inserted = new Map([...draft.inserted.values()].map((inserted) => [inserted.self.named, inserted]));
    for (const { child, parent, holder } of draft.held) {
      if (!isNamed(child.uuid)) this.#parents.set(child.uuid, parent);
      const children = this.#children.get(holder) ?? new Set<string | NamedUuid>();
      this.#children.set(holder, children.add(child.uuid));
    }
    for (const { child } of draft.held) {
      const row = isNamed(child.uuid) ? undefined : context.database.row(child.table, child.uuid);
      if (row !== undefined) draft.change(child.table, row).key ??= child.key;
    }
  }

  changes(): DryRunChange[] {
    const changed = [...this.#draft.changed.values()].flatMap((change) => this.#changed(change) ?? []);
    const deleted = this.#draft.deleted.map(({ table, row }): DryRunChange => {
      const [key, owner] = [this.#keyOf(table, row), this.#ownerOf(table, row)];
      return { action: 'delete', table, key, ...owner, columns: {}, members: {} };
    });
    return [...[...this.#draft.inserted.values()].map((inserted) => this.#insertion(inserted)), ...changed, ...deleted];
  }

  leftAlone(): LeftAloneRow[] {
    const { database, tables, rows } = this.#context;
    const left: LeftAloneRow[] = [];
    for (const table of tables) {
      const holders = this.#holdersOf(table);
      for (const row of rows(table)) {
        if (this.#isOurs(table, row)) continue;
        const holder = holders.get(row._uuid);
        // Kube-OVN does not mark all its rows in routers and switches; rows of other products there have their own marks.
        const isInOurs = holder !== undefined && this.#isOurs(holder.table, holder.row) && hasNoIds(row);
        if (externalIdOf(row, externalId.vendor) !== vendor && !isInOurs) continue;
        const place = holder === undefined ? '' : ` in ${holder.table} ${this.#keyOf(holder.table, holder.row)}`;
        const description = `${describe(row)}${place}`.trim();
        left.push({ table, key: database.keyOf(table, row) ?? '', description });
      }
    }
    return left;
  }

  /** Whether the row has an owner, or gets one in this transaction. */
  #isOurs(table: string, row: Row): boolean {
    if (this.#context.database.ownerOf(table, row) !== undefined) return true;
    return this.#draft.changed.get(row._uuid)?.owner !== undefined;
  }

  /** By the uuid of a non-root row: the row that refers to it. */
  #holdersOf(table: string): ReadonlyMap<string, { readonly table: string; readonly row: Row }> {
    const { database, rows } = this.#context;
    const holders = new Map<string, { readonly table: string; readonly row: Row }>();
    if (database.isRoot(table)) return holders;
    for (const parent of database.parentsOf(table))
      for (const row of rows(parent.table))
        for (const child of atomsOf(row[parent.column])) holders.set(String(child), { table: parent.table, row });
    return holders;
  }

  #insertion(inserted: Inserted): DryRunChange {
    const { owner, wanted, row } = inserted;
    const columns: Record<string, ColumnChange> = {};
    for (const column of Object.keys(row).sort())
      columns[column] = { to: this.#shown(wanted.table, column, row[column] ?? null) };
    return {
      action: 'insert',
      table: wanted.table,
      key: wanted.key,
      owner: this.#context.nameOf(owner),
      columns,
      members: this.#members(wanted.table, inserted, inserted),
      ...(wanted.parent === undefined ? {} : { parent: wanted.parent }),
    };
  }

  #changed(change: Changed): DryRunChange | undefined {
    const { table, row } = change;
    const columns: Record<string, ColumnChange> = {};
    for (const column of [...change.columns.keys()].sort())
      columns[column] = {
        from: this.#shown(table, column, row[column] ?? null),
        to: this.#shown(table, column, change.columns.get(column) ?? null),
      };
    const members = this.#members(table, row, change);
    const parent = this.#parents.get(row._uuid);
    const isEmpty = Object.keys(columns).length === 0 && parent === undefined;
    if (isEmpty && Object.keys(members).length === 0) return undefined;
    const isAdopted = change.owner !== undefined && this.#context.database.ownerOf(table, row) === undefined;
    return {
      action: isAdopted ? 'adopt' : isEmpty ? 'mutate' : 'update',
      table,
      key: change.key ?? this.#keyOf(table, row),
      ...(change.owner === undefined ? this.#ownerOf(table, row) : { owner: this.#context.nameOf(change.owner) }),
      columns,
      members,
      ...(parent === undefined ? {} : { parent }),
    };
  }

  #members(table: string, place: Place, { members, entries }: Additions): Record<string, MembersChange> {
    const children = this.#children.get(place);
    const changes: Record<string, MembersChange> = {};
    const there = (column: string): Readonly<Record<string, unknown>> => {
      const value = isInserted(place) ? undefined : place[column];
      return isMap(value) ? value : {};
    };
    for (const [column, { insert, remove }] of members) {
      const added = [...insert].filter((member) => children?.has(member as string | NamedUuid) !== true);
      const change = {
        added: this.#texts(table, column, added),
        removed: this.#texts(table, column, [...remove]),
      };
      if (change.added.length + change.removed.length > 0) changes[column] = change;
    }
    for (const [column, { insert, remove }] of entries) {
      const was = there(column);
      const gone = [...remove].filter((entry) => Object.hasOwn(was, entry));
      changes[column] = {
        added: [...insert].map(([entry, value]) => `${entry}=${this.#text(table, column, value)}`).sort(compare),
        removed: gone.map((entry) => `${entry}=${String(was[entry])}`).sort(compare),
      };
    }
    return Object.fromEntries(Object.entries(changes).sort(([a], [b]) => compare(a, b)));
  }

  #texts(table: string, column: string, atoms: readonly (Atom | NamedUuid)[]): readonly string[] {
    return atoms.map((atom) => String(this.#text(table, column, atom))).sort(compare);
  }

  #shown(table: string, column: string, value: WriteValue): Value {
    if (value === null) return null;
    if (isMap(value))
      return Object.fromEntries(
        Object.entries(value)
          .map(([entry, atom]) => [entry, this.#text(table, column, atom)] as const)
          .sort(([a], [b]) => compare(a, b)),
      );
    if (Array.isArray(value))
      return (value as readonly (Atom | NamedUuid)[]).map((atom) => this.#text(table, column, atom));
    return this.#text(table, column, value as Atom | NamedUuid);
  }

  #text(table: string, column: string, atom: Atom | NamedUuid): Atom {
    if (isNamed(atom)) return this.#inserted.get(atom.named)?.wanted.key ?? atom.named;
    const refTable = this.#context.database.refTableOf(table, column);
    const row = refTable === undefined ? undefined : this.#context.database.row(refTable, String(atom));
    if (row === undefined || refTable === undefined) return atom;
    return this.#draft.changed.get(row._uuid)?.key ?? this.#keyOf(refTable, row);
  }

  #keyOf(table: string, row: Row): string {
    return this.#context.database.keyOf(table, row) ?? describe(row);
  }

  #ownerOf(table: string, row: Row): { readonly owner?: string } {
    const owner = this.#context.database.ownerOf(table, row);
    return owner === undefined ? {} : { owner: this.#context.nameOf(owner) };
  }
}

function hasNoIds(row: Row): boolean {
  return Object.keys(row['external_ids'] ?? {}).length === 0;
}

/** Columns that identify a row and its function. */
const telling = [
  'priority',
  'direction',
  'match',
  'action',
  'nexthops',
  'type',
  'external_ip',
  'logical_ip',
  'cidr',
  'route_table',
  'policy',
  'ip_prefix',
  'nexthop',
  'logical_port',
  'dst_ip',
  'addresses',
  'networks',
  'protocol',
  'vips',
  'bandwidth',
  'chassis_name',
  'ip',
  'status',
];
const mostTold = 3;

function describe(row: Row): string {
  const parts: string[] = [];
  for (const column of telling) {
    const value = row[column];
    const entries = isMap(value) ? Object.entries(value).map(([name, atom]) => `${name}=${String(atom)}`) : undefined;
    const atoms = entries ?? atomsOf(value);
    const more = atoms.length > mostTold ? ` and ${atoms.length - mostTold} more` : '';
    const text = atoms.slice(0, mostTold).join(' ');
    if (text !== '') parts.push(`${column} ${text}${more}`);
  }
  return parts.join(', ');
}

function byTableAndKey<T extends { readonly table: string; readonly key: string }>(a: T, b: T): number {
  return compare(a.table, b.table) || compare(a.key, b.key) || compare(JSON.stringify(a), JSON.stringify(b));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
