import { routerSwitchPort, switchRouterPort } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import { formatCidr } from '../../../lib/net/cidr.ts';
import { deriveMac } from '../../../lib/net/mac.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { SubnetNet } from '../../ipam/subnet-pool.ts';
import type { Feature } from '../feature.ts';
import { matchFamily, policyPriority, vendorIds } from '../names.ts';
import type { View } from '../view.ts';
import { gatewayIp } from './subnet-net.ts';

/** First octet of router ports' MAC addresses; ports of pods and nodes have another. */
const routerMacSpace = 0x06;

/** The network of a subnet that has rows: in force, and not one that is deleted and empty. */
export function servedNet(view: View, name: string): SubnetNet | undefined {
  const isLeaving = view.subnets.get(name)?.isDeleting === true && (view.pool(name)?.allocations().size ?? 0) === 0;
  return isLeaving ? undefined : view.verdicts.get(name)?.net;
}

/** A switch, its patch to the router of its VPC, and the policy that keeps traffic to it from being sent to a node. */
function planSubnet(view: View, name: string): Desired {
  const net = servedNet(view, name);
  const vpc = view.verdicts.get(name)?.vpc;
  if (net === undefined || vpc === undefined) return { rows: [] };
  const parts = [net.v4, net.v6].filter((part) => part !== undefined);
  const port = routerSwitchPort(vpc, name);
  return {
    rows: [
      { table: 'Logical_Switch', key: name, columns: { external_ids: vendorIds } },
      {
        table: 'Logical_Switch_Port',
        key: switchRouterPort(name, vpc),
        columns: {
          type: 'router',
          addresses: ['router'],
          options: { 'router-port': port },
          external_ids: { ...vendorIds, ls: name },
        },
        parent: { table: 'Logical_Switch', key: name, column: 'ports' },
      },
      {
        table: 'Logical_Router_Port',
        key: port,
        // Neighbours have learned the MAC address of a port that was there before: it stays.
        initial: { mac: deriveMac(routerMacSpace, port) },
        columns: {
          networks: parts.map((part) => `${gatewayIp(part)}/${part.cidr.prefix}`),
          external_ids: vendorIds,
        },
        parent: { table: 'Logical_Router', key: vpc, column: 'ports' },
      },
      ...parts.map((part) => localPolicy(name, vpc, part)),
    ],
  };
}

function localPolicy(name: string, vpc: string, { cidr }: FamilyNet): DesiredRow {
  return {
    table: 'Logical_Router_Policy',
    key: `subnet/${name}/ipv${cidr.family}`,
    columns: {
      priority: policyPriority.subnetLocal,
      match: `${matchFamily(cidr.family)}.dst == ${formatCidr(cidr)}`,
      action: 'allow',
      external_ids: vendorIds,
    },
    parent: { table: 'Logical_Router', key: vpc, column: 'policies' },
  };
}

export const subnetFeature: Feature = {
  name: 'subnet',
  all: (view) => view.subnets.keys(),
  reads(change) {
    return ['subnets', 'verdicts', 'usage'].includes(change.kind) ? [change.name] : [];
  },
  plan: planSubnet,
};
