/**
 * Recognises rows of a former Kube-OVN in tables without a name column, by the columns that identify such a row. Applied to
 * the plans of all features, so that features need not consider it.
 */
import type { Desired, DesiredRow } from '../../lib/desired/row.ts';

/** Two rows with equal values in these columns are the same row. */
const identifyingColumns: Readonly<Record<string, readonly string[]>> = {
  Logical_Router_Policy: ['priority', 'match'],
  Logical_Router_Static_Route: ['ip_prefix', 'nexthop', 'policy', 'route_table'],
  ACL: ['direction', 'priority', 'match'],
  DHCP_Options: ['cidr'],
  Chassis_Template_Var: ['chassis'],
  NAT: ['type', 'external_ip', 'logical_ip'],
  BFD: ['logical_port', 'dst_ip'],
  QoS: ['direction', 'priority', 'match'],
};

function withAdoption(row: DesiredRow): DesiredRow {
  const all = identifyingColumns[row.table];
  if (all === undefined || row.adopts !== undefined) return row;
  const given = (column: string): boolean => row.columns[column] !== undefined;
  return { ...row, adopts: all.every(given) ? all : all.filter(given) };
}

/** The same rows, each with the columns by which it is recognised. */
export function recognisable(desired: Desired): Desired {
  return desired.rows.some(({ table }) => identifyingColumns[table] !== undefined)
    ? { ...desired, rows: desired.rows.map(withAdoption) }
    : desired;
}
