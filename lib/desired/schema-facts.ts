/** What the transaction builder must know of a database's schema. Pure. */
import type { Atom, DatabaseSchema } from 'ovsdb-client';

export interface ParentColumn {
  readonly table: string;
  readonly column: string;
}

export interface SchemaFacts {
  hasColumn(table: string, column: string): boolean;
  isRoot(table: string): boolean;
  /** Columns that hold rows of this table by strong reference and may do without any. */
  parentsOf(table: string): readonly ParentColumn[];
  /** Columns of this table that hold rows of root tables by strong reference. */
  referencesOf(table: string): readonly string[];
  /** The table whose rows a column's members (a map's values) refer to. */
  refTableOf(table: string, column: string): string | undefined;
  /** What an emptied scalar holds: null if it is optional, else its type's zero. */
  emptyOf(table: string, column: string): Atom | null;
}

export function schemaFacts(schema: DatabaseSchema): SchemaFacts {
  const parents = new Map<string, ParentColumn[]>();
  for (const [table, { columns }] of Object.entries(schema.tables)) {
    for (const [column, { key, value, min }] of Object.entries(columns)) {
      for (const base of [key, value]) {
        if (base?.refTable === undefined || base.refType === 'weak' || min > 0) continue;
        parents.set(base.refTable, [...(parents.get(base.refTable) ?? []), { table, column }]);
      }
    }
  }
  const references = new Map(
    Object.entries(schema.tables).map(([table, { columns }]) => [
      table,
      Object.entries(columns).flatMap(([column, { key, value }]) => {
        const isStrong = [key, value].some(
          (base) =>
            base?.refTable !== undefined && base.refType !== 'weak' && schema.tables[base.refTable]?.isRoot === true,
        );
        return isStrong ? [column] : [];
      }),
    ]),
  );
  const zero = { string: '', uuid: null, integer: 0, real: 0, boolean: false } as const;
  return {
    hasColumn: (table, column) => schema.tables[table]?.columns[column] !== undefined,
    isRoot: (table) => schema.tables[table]?.isRoot === true,
    parentsOf: (table) => parents.get(table) ?? [],
    referencesOf: (table) => references.get(table) ?? [],
    refTableOf: (table, column) => {
      const type = schema.tables[table]?.columns[column];
      return type?.key.refTable ?? type?.value?.refTable;
    },
    emptyOf: (table, column) => {
      const type = schema.tables[table]?.columns[column];
      return type === undefined || type.min === 0 ? null : zero[type.key.type];
    },
  };
}
