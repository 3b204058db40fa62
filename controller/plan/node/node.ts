import { annotation, defaultVpc, joinSubnet, nodePortName } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { parseIp } from '../../../lib/net/ip.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import type { Node } from '../../state/objects.ts';
import { addressText, portAddresses } from '../address/texts.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, nodePortGroup, policyPriority, vendorIds } from '../names.ts';
import { cidrText, gatewayText } from '../subnet/accepted-note.ts';
import type { View } from '../view.ts';
import { joinAllocation } from './join.ts';
import { nodeRateRows } from './rates.ts';
import { holderOf, nodeAddresses, nodeTraits } from './traits.ts';

/** A node's port in the join subnet with its limits, and the policies that send traffic for the node's own addresses there. */
function planNode(view: View, name: string): Desired {
  const node = view.nodes.get(name);
  if (node === undefined) return { rows: [] };
  const allocation = joinAllocation(view, name);
  const group = portGroup(view, name);
  if (allocation === undefined) return { rows: group };
  const port: DesiredRow = {
    table: 'Logical_Switch_Port',
    key: nodePortName(name),
    columns: { addresses: [portAddresses(allocation)], external_ids: vendorIds },
    parent: { table: 'Logical_Switch', key: joinSubnet, column: 'ports' },
  };
  return { rows: [...group, port, ...nodeRateRows(node), ...nodePolicies(view, node, allocation)] };
}

/** None where an older node has the name: the younger's port must not be lost over it. */
function portGroup(view: View, name: string): readonly DesiredRow[] {
  const key = nodePortGroup(name);
  if (holderOf(view, key)?.name !== name) return [];
  return [{ table: 'Port_Group', key, columns: { external_ids: { ...vendorIds, node: name, np: `node/${name}` } } }];
}

function nodePolicies(view: View, node: Node, allocation: Allocation): readonly DesiredRow[] {
  return nodeAddresses(node).flatMap((address): DesiredRow[] => {
    const ip = parseIp(address);
    const hop = ip?.family === 4 ? allocation.v4 : allocation.v6;
    // Two policies of one match would take turns.
    if (ip === undefined || hop === undefined || holderOf(view, address)?.name !== node.name) return [];
    return [
      {
        table: 'Logical_Router_Policy',
        key: `node/${node.name}/${address}`,
        columns: {
          priority: policyPriority.nodeLocal,
          match: `${matchFamily(ip.family)}.dst == ${address}`,
          action: 'reroute',
          nexthops: [hop],
          external_ids: { ...vendorIds, node: node.name, 'address-family': String(ip.family) },
        },
        parent: { table: 'Logical_Router', key: defaultVpc, column: 'policies' },
      },
    ];
  });
}

/** What the node's daemon reads; undefined while the node has no address. */
export function planNodeAnnotations(view: View, name: string): Readonly<Record<string, string>> | undefined {
  const allocation = joinAllocation(view, name);
  const net = view.verdicts.get(joinSubnet)?.net;
  if (allocation === undefined || net === undefined) return undefined;
  return {
    [annotation.allocated]: 'true',
    [annotation.ipAddress]: addressText(allocation),
    [annotation.macAddress]: allocation.mac,
    [annotation.cidr]: cidrText(net),
    [annotation.gateway]: gatewayText(net),
    [annotation.logicalSwitch]: joinSubnet,
    [annotation.portName]: nodePortName(name),
  };
}

export const nodeFeature: Feature = {
  name: 'node',
  all: (view) => view.nodes.keys(),
  reads(change, view) {
    if (change.kind === 'nodes') {
      const traits = [change.before, change.after].flatMap((node) => (node === undefined ? [] : nodeTraits(node)));
      return new Set([change.name, ...traits.flatMap((trait) => [...view.nodesWith(trait)])]);
    }
    if (change.kind === 'ports' && change.name.startsWith('node/')) return [change.name.slice('node/'.length)];
    return change.kind === 'verdicts' && change.name === joinSubnet ? view.nodes.keys() : [];
  },
  plan: planNode,
};
