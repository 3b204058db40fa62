/**
 * How rows of a former Kube-OVN are recognised, where their tables have no name: by what such a row is about. Applied to
 * what every feature plans, so that no feature needs to think of it.
 */
import type { Desired, DesiredRow } from '../../lib/desired/row.ts';

/** Of two rows that agree in these, one is the other. */
const identifyingColumns: Readonly<Record<string, readonly string[]>> = {
  Logical_Router_Policy: ['priority', 'match'],
  Logical_Router_Static_Route: ['ip_prefix', 'nexthop', 'policy', 'route_table'],
  ACL: ['direction', 'priority', 'match'],
  DHCP_Options: ['cidr'],
  QoS: ['direction', 'priority', 'match'],
};

function withAdoption(row: DesiredRow): DesiredRow {
  const all = identifyingColumns[row.table];
  if (all === undefined || row.adopts !== undefined) return row;
  const given = (column: string): boolean => row.columns[column] !== undefined;
  return { ...row, adopts: all.every(given) ? all : all.filter(given) };
}

/** The same rows, each with what it is recognised by. */
export function recognisable(desired: Desired): Desired {
  return desired.rows.some(({ table }) => identifyingColumns[table] !== undefined)
    ? { ...desired, rows: desired.rows.map(withAdoption) }
    : desired;
}
