import { defaultVpc, joinSubnet } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { Feature } from '../feature.ts';
import { gatewayPortGroup, matchFamily, policyPriority, vendorIds } from '../names.ts';
import { joinAllocation } from '../node/node.ts';
import { servedNet } from '../subnet/subnet.ts';
import type { View } from '../view.ts';

/** Distributed gateway: what pods of a subnet on a node send out of the cluster leaves through that node. */
function planGateway(view: View, id: string): Desired {
  const [subnet = '', node = ''] = id.split('/', 2);
  const net = servedNet(view, subnet);
  const owner = view.nodes.get(node);
  if (net === undefined || subnet === joinSubnet || owner === undefined) return { rows: [] };
  const group = gatewayPortGroup(subnet, node);
  const join = joinAllocation(view, node);
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

/** Keys: `<subnet>/<node>`. */
export const distributedGatewayFeature: Feature = {
  name: 'gateway',
  *all(view) {
    for (const subnet of view.subnets.keys()) for (const node of view.nodes.keys()) yield `${subnet}/${node}`;
  },
  *reads(change, view) {
    if (change.kind === 'verdicts') for (const node of view.nodes.keys()) yield `${change.name}/${node}`;
    const isNode = change.kind === 'nodes' && (change.before === undefined) !== (change.after === undefined);
    const isPort = change.kind === 'ports' && change.name.startsWith('node/');
    const node = isPort ? change.name.slice('node/'.length) : change.name;
    if (isNode || isPort) for (const subnet of view.verdicts.keys()) yield `${subnet}/${node}`;
  },
  plan: planGateway,
};
