import { defaultSubnet, defaultVpc, joinSubnet } from '../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../lib/desired/row.ts';
import { gatewayIp } from './subnet-net.ts';
import { vendorIds } from './names.ts';
import { servedNet } from './subnet.ts';
import type { View } from './view.ts';

/** The router that joins all subnets, and its default routes towards the nodes. */
export function planVpc(view: View): Desired {
  const router: DesiredRow = {
    table: 'Logical_Router',
    key: defaultVpc,
    columns: {
      // Neighbours are resolved when needed and forgotten when idle: with many routers on one switch the
      // alternative is a flow for each pair.
      options: { mac_binding_age_threshold: '300', dynamic_neigh_routers: 'true' },
      external_ids: vendorIds,
    },
    shared: ['options'],
  };
  const join = servedNet(view, joinSubnet);
  const gateways = [join?.v4, join?.v6].filter((part) => part !== undefined);
  const routes = gateways.map((part): DesiredRow => {
    const family = part.cidr.family;
    return {
      table: 'Logical_Router_Static_Route',
      key: `${defaultVpc}/default/ipv${family}`,
      // The policies choose the node; this route is there so that the packet is not dropped before them.
      columns: {
        ip_prefix: family === 4 ? '0.0.0.0/0' : '::/0',
        nexthop: gatewayIp(part),
        policy: 'dst-ip',
        external_ids: vendorIds,
      },
      parent: { table: 'Logical_Router', key: defaultVpc, column: 'static_routes' },
    };
  });
  return { rows: [router, ...routes] };
}

/** Status of the default Vpc besides conditions. */
export function planVpcStatus(view: View): Readonly<Record<string, unknown>> {
  const subnets = [...view.verdicts.keys()].filter((name) => servedNet(view, name) !== undefined);
  return {
    standby: true,
    default: true,
    defaultLogicalSwitch: defaultSubnet,
    router: defaultVpc,
    subnets: subnets.sort(),
  };
}
