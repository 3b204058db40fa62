import { defaultVpc, joinSubnet, nodePortName } from '../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../lib/desired/row.ts';
import { gatewayPortGroup, matchFamily, policyPriority, vendorIds } from './names.ts';
import { servedNet } from './subnet.ts';
import type { View } from './view.ts';

/** Distributed gateway: what pods of a subnet on a node send out of the cluster leaves through that node. */
export function planGateway(view: View, subnet: string, node: string): Desired {
  const net = servedNet(view, subnet);
  const owner = view.nodes.get(node);
  if (net === undefined || subnet === joinSubnet || owner === undefined) return { rows: [] };
  const group = gatewayPortGroup(subnet, node);
  const join = view.allocation(nodePortName(node), owner.uid);
  const hops = [
    { family: 4, address: join?.v4, isServed: net.v4 !== undefined },
    { family: 6, address: join?.v6, isServed: net.v6 !== undefined },
  ] as const;
  const policies = hops.flatMap(({ family, address, isServed }): DesiredRow[] => {
    if (address === undefined || !isServed) return [];
    const ip = matchFamily(family);
    return [
      {
        table: 'Logical_Router_Policy',
        key: `gateway/${subnet}/${node}/ipv${family}`,
        columns: {
          priority: policyPriority.gateway,
          match: `${ip}.src == $${group}_${ip}`,
          action: 'reroute',
          nexthops: [address],
          external_ids: { ...vendorIds, subnet, node },
        },
        parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
      },
    ];
  });
  const portGroup: DesiredRow = {
    table: 'Port_Group',
    key: group,
    columns: { external_ids: { ...vendorIds, subnet, node, np: `${subnet}/${node}` } },
    collects: ['ports'],
  };
  return { rows: [portGroup, ...policies] };
}
