import { defaultVpc } from '../../../lib/api/names.ts';
import type { Contribution, Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { type Family, familyOf } from '../../../lib/net/ip.ts';
import type { Feature } from '../feature.ts';
import { nothing } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import type { View } from '../../model/view.ts';

const families = [4, 6] as const;

/** Prefixes that have routes of their own, by family. */
function learnedSet(family: Family): string {
  return `isthmus.learned.v${family}`;
}

/** Members of the address set: ovn-controller does not accept a mask without bits, which would match everything. */
function membersOf(prefix: string): readonly string[] {
  if (prefix === '0.0.0.0/0') return ['0.0.0.0/1', '128.0.0.0/1'];
  return prefix === '::/0' ? ['::/1', '8000::/1'] : [prefix];
}

/** A route to each node that learned the prefix; the longest prefix wins, as among all routes of the router. */
function planRoutes(view: View, prefix: string): Desired {
  const { hops = [], tables = [] } = view.learned.get(prefix) ?? {};
  if (hops.length === 0) return nothing;
  const rows = tables.flatMap((table) =>
    hops.map(({ node, address }): DesiredRow => ({
      table: 'Logical_Router_Static_Route',
      key: `${defaultVpc}/learned/${prefix}/${node}${table === '' ? '' : `/${table}`}`,
      columns: {
        ip_prefix: prefix,
        nexthop: address,
        policy: 'dst-ip',
        route_table: table,
        external_ids: { ...vendorIds, node },
      },
      parent: { table: 'Logical_Router', key: defaultVpc, column: 'static_routes' },
    })),
  );
  const exemption: Contribution = {
    table: 'Address_Set',
    key: learnedSet(familyOf(prefix)),
    column: 'addresses',
    values: membersOf(prefix),
  };
  return { rows, contributions: [exemption] };
}

/** Without it, the policies of subnets would send packets for a learned prefix to the subnet's own gateway. */
function planExemption(view: View): Desired {
  const used = new Set<Family>();
  for (const [prefix, { hops }] of view.learned) if (hops.length > 0) used.add(familyOf(prefix));
  return {
    rows: families
      .filter((family) => used.has(family))
      .flatMap((family): DesiredRow[] => [
        {
          table: 'Address_Set',
          key: learnedSet(family),
          columns: { external_ids: vendorIds },
          collects: ['addresses'],
        },
        {
          table: 'Logical_Router_Policy',
          key: learnedSet(family),
          columns: {
            priority: policyPriority.learned,
            match: `${matchFamily(family)}.dst == $${learnedSet(family)}`,
            action: 'allow',
            external_ids: vendorIds,
          },
          parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
        },
      ]),
  };
}

/** Keys: the prefix. */
export const learnedRouteFeature: Feature = {
  name: 'learned-route',
  all: (view) => view.learned.keys(),
  reads: (change) => (change.kind === 'learned' ? [change.name] : []),
  plan: planRoutes,
};

/** Keys: the default VPC. */
export const learnedExemptionFeature: Feature = {
  name: 'learned-exemption',
  all: () => [defaultVpc],
  reads: (change) => (change.kind === 'learned' ? [defaultVpc] : []),
  plan: planExemption,
};
