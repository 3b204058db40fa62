/**
 * The ports of routers in Subnets outside. In: the verdict on a port, and the address of the router. Out: the port with the nodes that may
 * hold it. Rule: a change of the nodes is a change of their rows; the port stays.
 */
import { routerSwitchPort, switchRouterPort } from '../../../lib/api/names.ts';
import { ref, type Desired, type DesiredRow } from '../../../lib/desired/row.ts';
import type { FamilyNet } from '../../ipam/family-pool.ts';
import type { Allocation } from '../../ipam/subnet-pool.ts';
import { eipPort } from '../../model/ovn-names.ts';
import type { GatewayPort } from '../../model/settled.ts';
import type { View } from '../../model/view.ts';
import {
  gatewayPortKey,
  gatewayPortName,
  gatewayPortNamed,
  vpcsNaming,
} from '../../settle/external/external-subnets.ts';
import { servedNet } from '../../settle/subnet/served-net.ts';
import { nothing } from '../feature.ts';
import type { Feature } from '../feature.ts';
import { vendorIds } from '../names.ts';
import { sessionRows } from './upstream.ts';

/** Of the node that OVN chooses first; each further one has the next lower. */
const highestPriority = 100;

/** A port with its addresses, once all that it needs is there. */
export interface ServedPort extends GatewayPort {
  readonly name: string;
  readonly allocation: Allocation;
  readonly parts: readonly FamilyNet[];
}

export function servedPort(view: View, vpc: string, subnet: string): ServedPort | undefined {
  const port = view.gatewayPorts.get(gatewayPortKey(vpc, subnet));
  if (port === undefined || port.problem !== undefined) return undefined;
  const name = gatewayPortName(port);
  const allocation = view.allocation(eipPort(name));
  const net = servedNet(view, subnet);
  if (allocation === undefined || net === undefined) return undefined;
  const has = (part: FamilyNet): boolean => (part.cidr.family === 4 ? allocation.v4 : allocation.v6) !== undefined;
  const parts = [net.v4, net.v6].filter((part) => part !== undefined && has(part)) as readonly FamilyNet[];
  return { ...port, name, allocation, parts };
}

/** A port and the rules that use it are one transaction: OVN would apply a rule without its port to every port. */
export function togetherWith({ vpc, subnet }: Pick<GatewayPort, 'vpc' | 'subnet'>): string {
  return `gateway-port/${gatewayPortKey(vpc, subnet)}`;
}

export function portAt(id: string): { readonly vpc: string; readonly subnet: string } {
  const slash = id.indexOf('/');
  return { vpc: id.slice(0, slash), subnet: id.slice(slash + 1) };
}

/** The nodes that may hold a port, the first one first. */
export function chassisRows(port: string, nodes: GatewayPort['nodes']): readonly DesiredRow[] {
  return nodes.map(({ chassis }, index) => ({
    table: 'Gateway_Chassis',
    key: `${port}-${chassis}`,
    columns: { chassis_name: chassis, priority: highestPriority - index, external_ids: vendorIds },
  }));
}

function planPort(view: View, id: string): Desired {
  const { vpc, subnet } = portAt(id);
  const port = servedPort(view, vpc, subnet);
  if (port === undefined) return nothing;
  const { allocation, parts, nodes } = port;
  const addressOf = ({ cidr: { family, prefix } }: FamilyNet): string =>
    `${(family === 4 ? allocation.v4 : allocation.v6) ?? ''}/${prefix}`;
  const rows: readonly DesiredRow[] = [
    {
      table: 'Logical_Switch_Port',
      key: switchRouterPort(subnet, vpc),
      columns: {
        type: 'router',
        addresses: ['router'],
        // The node that holds the port announces the addresses of its rules by gratuitous ARP.
        options: { 'router-port': routerSwitchPort(vpc, subnet), 'nat-addresses': 'router' },
        external_ids: { ...vendorIds, ls: subnet },
      },
      parent: { table: 'Logical_Switch', key: subnet, column: 'ports' },
    },
    {
      table: 'Logical_Router_Port',
      key: port.name,
      columns: {
        mac: allocation.mac,
        networks: parts.map(addressOf),
        gateway_chassis: nodes.map(({ chassis }) => ref('Gateway_Chassis', `${port.name}-${chassis}`)),
        external_ids: vendorIds,
      },
      parent: { table: 'Logical_Router', key: vpc, column: 'ports' },
    },
    ...chassisRows(port.name, nodes),
    ...sessionRows(
      port,
      parts.map(({ cidr }) => cidr.family),
    ),
  ];
  return { rows, together: togetherWith(port) };
}

/** Keys: `<vpc>/<subnet>`. */
export const gatewayPortFeature: Feature = {
  name: 'gateway-port',
  all: (view) => view.gatewayPorts.keys(),
  *reads(change, view) {
    if (change.kind === 'gatewayPorts') yield change.name;
    else if (change.kind === 'ports' && change.name.startsWith('eip/')) {
      const port = gatewayPortNamed(view, change.name.slice('eip/'.length));
      if (port !== undefined) yield gatewayPortKey(port.vpc, port.subnet);
    } else if (change.kind === 'verdicts')
      for (const vpc of vpcsNaming(view, change.name)) yield gatewayPortKey(vpc, change.name);
  },
  plan: planPort,
  statusOf: (id) => `vpc/${portAt(id).vpc}`,
};
