/** A database's schema as `get_schema` or an `.ovsschema` file gives it, with all defaults written out. */
import type { Atom } from '../value.ts';

export type AtomType = 'integer' | 'real' | 'boolean' | 'string' | 'uuid';

export interface BaseType {
  readonly type: AtomType;
  readonly enum?: readonly Atom[];
  /** Of uuids: the table referred to. A strong reference keeps its row alive, a weak one goes with its row. */
  readonly refTable?: string;
  readonly refType?: 'strong' | 'weak';
  /** Of integers and reals the bounds, of strings the bounds of the length. */
  readonly minimum?: number;
  readonly maximum?: number;
}

/** How this package shows a column's value: see value.ts. */
export type ColumnKind = 'scalar' | 'optional' | 'set' | 'map';

export interface ColumnSchema {
  readonly kind: ColumnKind;
  readonly key: BaseType;
  /** Of maps. */
  readonly value?: BaseType;
  readonly min: number;
  /** Infinity if unlimited. */
  readonly max: number;
  readonly mutable: boolean;
  readonly ephemeral: boolean;
}

export interface TableSchema {
  readonly columns: Readonly<Record<string, ColumnSchema>>;
  /** Column lists whose values are unique in the table. */
  readonly indexes: readonly (readonly string[])[];
  /** Rows of other tables vanish when nothing refers to them strongly. */
  readonly isRoot: boolean;
}

export interface DatabaseSchema {
  readonly name: string;
  readonly version: string;
  readonly tables: Readonly<Record<string, TableSchema>>;
}
