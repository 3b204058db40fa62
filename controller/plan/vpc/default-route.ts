/** A default route of a VPC's router, whatever it is for. */
import type { DesiredRow } from '../../../lib/desired/row.ts';
import type { Family } from '../../../lib/net/ip.ts';
import { vendorIds } from '../names.ts';

export interface DefaultRoute {
  readonly vpc: string;
  /** What the route is for: a part of its key. */
  readonly purpose: string;
  readonly family: Family;
  readonly nexthop: string;
  /** The route table; empty for the main one. */
  readonly table: string;
}

export function defaultRoute({ vpc, purpose, family, nexthop, table }: DefaultRoute): DesiredRow {
  return {
    table: 'Logical_Router_Static_Route',
    key: `${vpc}/${purpose}/ipv${family}${table === '' ? '' : `/${table}`}`,
    columns: {
      ip_prefix: family === 4 ? '0.0.0.0/0' : '::/0',
      nexthop,
      policy: 'dst-ip',
      route_table: table,
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'static_routes' },
  };
}
