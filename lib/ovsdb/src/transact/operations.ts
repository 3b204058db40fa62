import type { Condition, Mutation, Operation } from '../client-types.ts';
import { encodeValue } from '../notation/encode.ts';
import type { DatabaseSchema, TableSchema } from '../schema/schema.ts';
import type { WriteValue } from '../value.ts';

type Table = TableSchema | undefined;

/** An operation as RFC 7047 §5.2 writes it. Names the schema lacks are passed on, for the server to refuse. */
export function encodeOperation(operation: Operation, schema: DatabaseSchema): object {
  if (operation.op === 'comment') return operation;
  const table = schema.tables[operation.table];
  const target = { op: operation.op, table: operation.table };
  switch (operation.op) {
    case 'insert':
      return {
        ...target,
        row: encodeRow(operation.row, table),
        ...(operation.uuidName === undefined ? {} : { 'uuid-name': operation.uuidName }),
      };
    case 'update':
      return { ...target, where: encodeWhere(operation.where, table), row: encodeRow(operation.row, table) };
    case 'mutate':
      return {
        ...target,
        where: encodeWhere(operation.where, table),
        mutations: operation.mutations.map((mutation) => encodeMutation(mutation, table)),
      };
    case 'delete':
      return { ...target, where: encodeWhere(operation.where, table) };
    case 'select':
      return { ...target, where: encodeWhere(operation.where, table), columns: selected(operation.columns, table) };
    case 'wait':
      break;
  }
  return {
    ...target,
    where: encodeWhere(operation.where, table),
    columns: operation.columns,
    until: operation.until,
    rows: operation.rows.map((row) => encodeRow(row, table)),
    ...(operation.timeoutMs === undefined ? {} : { timeout: operation.timeoutMs }),
  };
}

/** A row returned by this package always has its uuid, and `_version` only if it was requested. */
function selected(columns: readonly string[] | undefined, table: Table): readonly string[] {
  return [...new Set(['_uuid', ...(columns ?? Object.keys(table?.columns ?? {}))])];
}

function encodeRow(row: Readonly<Record<string, WriteValue>>, table: Table): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, encodeValue(value, name, table?.columns[name])]),
  );
}

/** Conditions as RFC 7047 §5.1 writes them. */
export function encodeWhere(where: readonly Condition[], table: Table): readonly unknown[] {
  return where.map(([column, test, value]) => [column, test, encodeValue(value, column, table?.columns[column])]);
}

function encodeMutation([column, mutator, value]: Mutation, table: Table): readonly unknown[] {
  return [column, mutator, encodeValue(value, column, table?.columns[column])];
}
