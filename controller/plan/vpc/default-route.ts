/** A default route of a VPC's router, whatever it is for. */
import type { DesiredRow, Ref } from '../../../lib/desired/row.ts';
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
  /** The network that the route leads to; everything without it. */
  readonly prefix?: string;
  /** The session without which OVN withdraws the route; null: none. Absent where no session was ever possible. */
  readonly bfd?: Ref | null;
}

export function defaultRoute({ vpc, purpose, family, nexthop, table, prefix, bfd }: DefaultRoute): DesiredRow {
  return {
    table: 'Logical_Router_Static_Route',
    key: [vpc, purpose, prefix ?? `ipv${family}`, ...(table === '' ? [] : [table])].join('/'),
    columns: {
      ip_prefix: prefix ?? (family === 4 ? '0.0.0.0/0' : '::/0'),
      nexthop,
      policy: 'dst-ip',
      route_table: table,
      ...(bfd !== undefined && { bfd }),
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'static_routes' },
  };
}
