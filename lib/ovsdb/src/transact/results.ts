import type { Operation, OperationResult } from '../client-types.ts';
import { OvsdbProtocolError, TransactionRejected } from '../errors.ts';
import { decoderOf, decodeUuid } from '../notation/decode.ts';
import type { DatabaseSchema, TableSchema } from '../schema/schema.ts';
import type { Row, Value } from '../value.ts';

type Json = Readonly<Record<string, unknown>>;

/** Reads a `transact` reply (RFC 7047 §4.1.3). @throws TransactionRejected, OvsdbProtocolError */
export function decodeResults(
  reply: unknown,
  operations: readonly Operation[],
  schema: DatabaseSchema,
): readonly OperationResult[] {
  if (!Array.isArray(reply)) throw new OvsdbProtocolError('a transact reply is not a list');
  const results = reply as readonly (Json | null)[];
  for (const [index, result] of results.entries()) {
    if (result !== null && typeof result['error'] === 'string') throw rejection(result, index, operations);
  }
  return operations.map((operation, index) => decodeResult(results[index] ?? {}, operation, schema));
}

/** The element after those of the operations is the error of the commit as a whole. */
function rejection(result: Json, index: number, operations: readonly Operation[]): TransactionRejected {
  const { error, details } = result;
  const fault = { error: String(error), details: typeof details === 'string' ? details : undefined };
  const operation = operations[index];
  if (operation === undefined) return new TransactionRejected(fault);
  return new TransactionRejected({
    ...fault,
    operation: index,
    op: operation.op,
    table: 'table' in operation ? operation.table : undefined,
  });
}

function decodeResult(result: Json, operation: Operation, schema: DatabaseSchema): OperationResult {
  switch (operation.op) {
    case 'insert':
      return { uuid: decodeUuid(result['uuid']) };
    case 'update':
    case 'mutate':
    case 'delete':
      return { count: Number(result['count']) };
    case 'select':
      return { rows: decodeRows(result['rows'], schema.tables[operation.table]) };
    case 'wait':
    case 'comment':
      break;
  }
  return {};
}

function decodeRows(rows: unknown, table: TableSchema | undefined): readonly Row[] {
  if (!Array.isArray(rows) || table === undefined) throw new OvsdbProtocolError('a select did not return rows');
  return rows.map((row: Json) => {
    const columns = Object.entries(row).filter(([name]) => name !== '_uuid');
    const values = columns.map(([name, wire]): [string, Value] => {
      const column = table.columns[name];
      return [name, column === undefined ? decodeUuid(wire) : decoderOf(column)(wire)];
    });
    return { _uuid: decodeUuid(row['_uuid']), ...Object.fromEntries(values) };
  });
}
