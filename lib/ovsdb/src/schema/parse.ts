import { OvsdbProtocolError } from '../errors.ts';
import type { Atom } from '../value.ts';
import type { AtomType, BaseType, ColumnKind, ColumnSchema, DatabaseSchema, TableSchema } from './schema.ts';

type Json = Readonly<Record<string, unknown>>;

const atomTypes: readonly string[] = ['integer', 'real', 'boolean', 'string', 'uuid'];

/** Reads RFC 7047 §3.2 <database-schema>. @throws OvsdbProtocolError */
export function parseSchema(raw: unknown): DatabaseSchema {
  const schema = object(raw, 'schema');
  const tables = Object.entries(object(schema['tables'], 'schema.tables'));
  // RFC 7047 §3.2: where no table is marked as root, all are.
  const allRoot = tables.every(([, table]) => object(table, 'table')['isRoot'] !== true);
  return {
    name: text(schema['name'], 'schema.name'),
    version: text(schema['version'], 'schema.version'),
    tables: Object.fromEntries(tables.map(([name, table]) => [name, parseTable(object(table, name), allRoot)])),
  };
}

function parseTable(raw: Json, allRoot: boolean): TableSchema {
  const columns = Object.entries(object(raw['columns'], 'columns'));
  return {
    columns: Object.fromEntries(columns.map(([name, column]) => [name, parseColumn(object(column, name))])),
    indexes: (raw['indexes'] ?? []) as readonly (readonly string[])[],
    isRoot: allRoot || raw['isRoot'] === true,
  };
}

function parseColumn(raw: Json): ColumnSchema {
  const rawType = raw['type'];
  const type: Json = typeof rawType === 'string' ? { key: rawType } : object(rawType, 'type');
  const value = type['value'] === undefined ? undefined : parseBase(type['value']);
  const min = (type['min'] ?? 1) as number;
  const max = type['max'] === 'unlimited' ? Infinity : ((type['max'] ?? 1) as number);
  return {
    kind: kindOf(min, max, value !== undefined),
    key: parseBase(type['key']),
    ...(value === undefined ? {} : { value }),
    min,
    max,
    mutable: raw['mutable'] !== false,
    ephemeral: raw['ephemeral'] === true,
  };
}

function kindOf(min: number, max: number, isMap: boolean): ColumnKind {
  if (isMap) return 'map';
  if (max > 1) return 'set';
  return min === 0 ? 'optional' : 'scalar';
}

function parseBase(raw: unknown): BaseType {
  const base: Json = typeof raw === 'string' ? { type: raw } : object(raw, 'base type');
  const type = text(base['type'], 'base type');
  if (!atomTypes.includes(type)) throw new OvsdbProtocolError(`schema has an unknown type ${type}`);
  const minimum = base['minInteger'] ?? base['minReal'] ?? base['minLength'];
  const maximum = base['maxInteger'] ?? base['maxReal'] ?? base['maxLength'];
  return {
    type: type as AtomType,
    ...(base['enum'] === undefined ? {} : { enum: parseEnum(base['enum']) }),
    ...(base['refTable'] === undefined
      ? {}
      : {
          refTable: text(base['refTable'], 'refTable'),
          refType: base['refType'] === 'weak' ? ('weak' as const) : ('strong' as const),
        }),
    ...(minimum === undefined ? {} : { minimum: minimum as number }),
    ...(maximum === undefined ? {} : { maximum: maximum as number }),
  };
}

function parseEnum(raw: unknown): readonly Atom[] {
  return Array.isArray(raw) ? (raw[1] as readonly Atom[]) : [raw as Atom];
}

function object(value: unknown, what: string): Json {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new OvsdbProtocolError(`${what} is not an object`);
  return value as Json;
}

function text(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new OvsdbProtocolError(`${what} is not a string`);
  return value;
}
