import type { AtomType, ColumnKind } from 'ovsdb-client';

/** A column as the schema has it: in short, for code that must know without a server at hand. */
export interface ColumnShape {
  readonly kind: ColumnKind;
  readonly key: AtomType;
  /** Of maps. */
  readonly value?: AtomType;
  /** The table that the uuids refer to (of a map: its values, or else its keys). */
  readonly refTable?: string;
  readonly refType?: 'strong' | 'weak';
}

export interface TableShape {
  /** Rows of other tables vanish when nothing refers to them strongly. */
  readonly isRoot: boolean;
  readonly columns: Readonly<Record<string, ColumnShape>>;
}

export type TableShapes = Readonly<Record<string, TableShape>>;
