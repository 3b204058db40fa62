/** What this room reads of the cluster's own NB and SB databases. */
import type { Cache, Row } from 'ovsdb-client';
import type { PortState } from '../plan/gateways.ts';
import { redirectPort } from '../plan/gateways.ts';
import { encapKey } from '../plan/remote.ts';
import { transitRouterPort, type LocalChassis } from '../state/local.ts';
import { integerOf, mapOf, textOf, textsOf } from './row.ts';

export const northboundMonitor = {
  NB_Global: ['name', 'options', 'external_ids'],
  Logical_Switch: ['name', 'ports', 'other_config', 'external_ids'],
  Logical_Switch_Port: ['name', 'type', 'addresses', 'options', 'external_ids'],
  Logical_Router: ['name', 'ports', 'static_routes', 'policies', 'external_ids'],
  Logical_Router_Port: ['name', 'mac', 'networks', 'gateway_chassis', 'external_ids'],
  Gateway_Chassis: undefined,
  Logical_Router_Static_Route: ['ip_prefix', 'nexthop', 'output_port', 'external_ids'],
  Logical_Router_Policy: ['priority', 'match', 'action', 'external_ids'],
};

export const southboundMonitor = {
  Chassis: ['name', 'hostname', 'encaps', 'other_config', 'external_ids'],
  Encap: undefined,
  Port_Binding: ['logical_port', 'type', 'chassis'],
};

/** Keys of SB rows that carry neither a name nor our ids. */
export function southboundKeyOf(table: string, row: Row): string | undefined {
  if (table === 'Encap') return encapKey(textOf(row, 'type'), textOf(row, 'ip'));
  if (table === 'Port_Binding') return textOf(row, 'logical_port');
  return undefined;
}

export function readRouterId(northbound: Cache, router: string): string {
  const rows = northbound.table('Logical_Router').rows.values();
  return rows.find((row) => textOf(row, 'name') === router)?._uuid ?? '';
}

/** Chassis of this cluster, by name. */
export function readChassis(southbound: Cache): ReadonlyMap<string, LocalChassis> {
  const chassis = new Map<string, LocalChassis>();
  for (const row of southbound.table('Chassis').rows.values()) {
    const config = { ...mapOf(row, 'external_ids'), ...mapOf(row, 'other_config') };
    if (config['is-remote'] === 'true') continue;
    const name = textOf(row, 'name');
    const encaps = textsOf(row, 'encaps').flatMap((uuid) => {
      const encap = southbound.table('Encap').rows.get(uuid);
      if (encap === undefined || textOf(encap, 'type') !== 'geneve') return [];
      return [{ type: 'geneve', ip: textOf(encap, 'ip'), options: mapOf(encap, 'options') }];
    });
    encaps.sort((a, b) => (a.ip < b.ip ? -1 : 1));
    const gateway = { chassis: name, hostname: textOf(row, 'hostname'), encaps };
    chassis.set(name, { gateway, isInterconnect: config['is-interconn'] === 'true' });
  }
  return new Map([...chassis].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function readPortState(northbound: Cache, southbound: Cache, cluster: string, network: string): PortState {
  const name = transitRouterPort(cluster, network);
  const port = northbound
    .table('Logical_Router_Port')
    .rows.values()
    .find((row) => textOf(row, 'name') === name);
  const present = (port === undefined ? [] : textsOf(port, 'gateway_chassis')).flatMap((uuid) => {
    const row = northbound.table('Gateway_Chassis').rows.get(uuid);
    return row === undefined ? [] : [{ chassis: textOf(row, 'chassis_name'), priority: integerOf(row, 'priority') }];
  });
  const binding = southbound.table('Port_Binding').byIndex(['logical_port'], [redirectPort(cluster, network)])[0];
  const chassis = southbound.table('Chassis').rows.get(binding === undefined ? '' : textOf(binding, 'chassis'));
  return { present, active: chassis === undefined ? '' : textOf(chassis, 'name') };
}
