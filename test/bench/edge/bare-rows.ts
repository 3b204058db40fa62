/** Rows of translations as a program writes them that knows the answers. */
import type { Row, WriteValue } from 'ovsdb-client';

type Bare = Readonly<Record<string, WriteValue>>;

export interface BareRows {
  readonly NAT: readonly Bare[];
  readonly Load_Balancer: readonly Bare[];
}

const columns = {
  NAT: ['type', 'external_ip', 'logical_ip', 'external_ids'],
  Load_Balancer: ['name', 'protocol', 'vips', 'external_ids'],
} as const;

export function bareRowsOf(rows: (table: keyof BareRows) => readonly Row[]): BareRows {
  const of = (table: keyof BareRows): readonly Bare[] =>
    rows(table).map((row) => Object.fromEntries(columns[table].map((column) => [column, row[column] ?? ''])));
  return { NAT: of('NAT'), Load_Balancer: of('Load_Balancer') };
}

export function countVips(rows: readonly Row[]): number {
  return rows.reduce((sum, { vips }) => sum + Object.keys((vips ?? {}) as object).length, 0);
}
