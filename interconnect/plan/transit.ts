/** This cluster's end of a transit switch as NB rows, in the form ovn-ic and Kube-OVN give them. Pure. */
import { ref, type Contribution, type Desired, type DesiredRow } from '../../lib/desired/row.ts';
import type { TransitSwitch } from '../link/messages.ts';
import { transitRouterPort, type LocalView } from '../state/local.ts';
import type { GatewayPriority } from './gateways.ts';

/** Tunnel BFD decides how long a dead gateway goes unnoticed: 3 × 100 ms here, 3 s with OVS' defaults. */
const bfdOptions = { 'bfd-min-rx': '100', 'bfd-min-tx': '100', 'bfd-mult': '3' };

export function transitOwner(network: string): string {
  return `transit/${network}`;
}
export const zoneOwner = 'zone/local';

/** The availability zone's name and timers: wanted as long as the cluster is a member. */
export function planZone(cluster: string): Desired {
  const contributions: readonly Contribution[] = [
    { table: 'NB_Global', key: '.', column: 'name', value: cluster },
    { table: 'NB_Global', key: '.', column: 'options', entries: bfdOptions },
  ];
  return { rows: [], contributions };
}

/** The port is left out while no chassis can hold it: a port without one would be on every chassis at once. */
export function planTransit(local: LocalView, network: TransitSwitch, gateways: readonly GatewayPriority[]): Desired {
  const { name, port } = network;
  const routerPort = transitRouterPort(local.cluster, name);
  const rows: DesiredRow[] = [
    {
      table: 'Logical_Switch',
      key: name,
      columns: { other_config: { 'interconn-ts': name, 'requested-tnl-key': String(network.tunnelKey) } },
      shared: ['other_config'],
    },
  ];
  if (gateways.length === 0) return { rows };
  rows.push(
    {
      table: 'Logical_Switch_Port',
      key: port.logicalPort,
      columns: {
        type: 'router',
        addresses: ['router'],
        options: { 'router-port': routerPort, 'requested-tnl-key': String(port.tunnelKey) },
      },
      parent: { table: 'Logical_Switch', key: name, column: 'ports' },
    },
    {
      table: 'Logical_Router_Port',
      key: routerPort,
      columns: {
        mac: port.mac,
        networks: port.networks,
        gateway_chassis: gateways.map(({ chassis }) => ref('Gateway_Chassis', `${routerPort}-${chassis}`)),
      },
      parent: { table: 'Logical_Router', key: local.router, column: 'ports' },
    },
  );
  for (const { chassis, priority } of gateways) {
    rows.push({
      table: 'Gateway_Chassis',
      key: `${routerPort}-${chassis}`,
      columns: { chassis_name: chassis, priority },
    });
  }
  return { rows };
}
