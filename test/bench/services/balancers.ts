/** Load balancers as bare rows: what a program writes that knows the answers. */
import type { Operation, Row, WriteValue } from 'ovsdb-client';

export const balancerColumns = ['name', 'protocol', 'vips', 'selection_fields', 'options', 'external_ids'];
export type BalancerRow = Readonly<Record<string, WriteValue>>;

const rowsPerTransaction = 1000;

/** The columns of a row that a program would write. */
export function bareRow(row: Row): BalancerRow {
  return Object.fromEntries(balancerColumns.map((column) => [column, row[column] ?? '']));
}

/** Transactions that insert the rows as members of a group. */
export function* insertBalancers(rows: readonly BalancerRow[], group: string): Generator<readonly Operation[]> {
  for (let from = 0; from < rows.length; from += rowsPerTransaction) {
    const part = rows.slice(from, from + rowsPerTransaction);
    const inserts = part.map((row, at): Operation => {
      return { op: 'insert', table: 'Load_Balancer', uuidName: `b${String(at)}`, row };
    });
    const members = part.map((_, at) => ({ named: `b${String(at)}` }));
    const where = [['name', '==', group]] as const;
    yield [
      ...inserts,
      { op: 'mutate', table: 'Load_Balancer_Group', where, mutations: [['load_balancer', 'insert', members]] },
    ];
  }
}
