/** Rows of the cluster's own NB and SB databases that this room reads. */
import type { Cache, Row } from 'ovsdb-client';
import { formatCidr, parseCidr } from '../../lib/net/cidr.ts';
import { ownerOf } from '../../lib/ovn/owner.ts';
import type { Gateway } from '../model/messages.ts';
import { handleOfOwner, importOfOwner, encapKey, fdbKey, fdbOwner, switchOfOwner } from '../model/owners.ts';
import type { LocalChassis, LocalRange } from '../model/local.ts';
import { redirectPort, transitRouterPort } from '../model/port-names.ts';
import { integerOf, mapOf, textOf, textsOf } from '../../lib/ovn/columns.ts';

export const northboundMonitor = {
  Address_Set: ['name', 'addresses', 'external_ids'],
  NB_Global: ['name', 'options', 'external_ids'],
  Logical_Switch: ['name', 'ports', 'other_config', 'external_ids'],
  Logical_Switch_Port: ['name', 'type', 'enabled', 'addresses', 'options', 'ha_chassis_group', 'external_ids'],
  Logical_Router: ['name', 'ports', 'static_routes', 'policies', 'external_ids'],
  Logical_Router_Port: ['name', 'mac', 'networks', 'peer', 'gateway_chassis', 'external_ids'],
  Gateway_Chassis: undefined,
  HA_Chassis_Group: undefined,
  HA_Chassis: undefined,
  Logical_Router_Static_Route: ['ip_prefix', 'nexthop', 'output_port', 'external_ids'],
  Logical_Router_Policy: ['priority', 'match', 'action', 'external_ids'],
  Load_Balancer: ['name', 'protocol', 'vips', 'selection_fields', 'options', 'external_ids'],
  Load_Balancer_Group: ['name', 'load_balancer'],
};

/** Columns that show how far northd and the ovn-controllers have come, besides those that rows are planned from. */
export const northboundProgress = { NB_Global: [...northboundMonitor.NB_Global, 'nb_cfg', 'sb_cfg'] };
export const southboundProgress = { Chassis_Private: ['name', 'nb_cfg'] };

export const northboundIndexes = {
  Logical_Router: [['name']],
  Logical_Router_Port: [['name']],
  Logical_Switch_Port: [['name']],
};

export const southboundMonitor = {
  Chassis: ['name', 'hostname', 'encaps', 'other_config', 'external_ids'],
  Encap: undefined,
  FDB: ['mac', 'dp_key', 'port_key'],
  HA_Chassis: ['chassis'],
  HA_Chassis_Group: ['name', 'ref_chassis'],
  Port_Binding: ['logical_port', 'type', 'chassis'],
};

export const southboundIndexes = {
  Port_Binding: [['logical_port']],
  Chassis: [['name']],
  HA_Chassis: [['chassis']],
  HA_Chassis_Group: [['name']],
};

/** Keys of SB rows that carry neither a name nor our ids. */
export function southboundKeyOf(table: string, row: Row): string | undefined {
  if (table === 'Encap') return encapKey(textOf(row, 'type'), textOf(row, 'ip'));
  if (table === 'Port_Binding') return textOf(row, 'logical_port');
  if (table === 'FDB') return fdbKey(integerOf(row, 'dp_key'), textOf(row, 'mac'));
  return undefined;
}

/** FDB rows have no external_ids; those of transit switches, which learn nothing by themselves, are this room's. */
export function southboundOwnerOf(table: string, row: Row): string | undefined {
  return table === 'FDB' ? fdbOwner(integerOf(row, 'dp_key'), textOf(row, 'mac')) : undefined;
}

/** Empty if there is no such router. */
export function readRouterId(northbound: Cache, router: string): string {
  return northbound.table('Logical_Router').byIndex(['name'], [router])[0]?._uuid ?? '';
}

/** Networks of a router's ports that lead to another router. */
export function readLinks(northbound: Cache, router: string): readonly LocalRange[] {
  const [row] = northbound.table('Logical_Router').byIndex(['name'], [router]);
  if (row === undefined) return [];
  const ports = textsOf(row, 'ports').flatMap((uuid) => northbound.table('Logical_Router_Port').rows.get(uuid) ?? []);
  const links = ports.filter((port) => textsOf(port, 'peer').length > 0);
  const ranges = links.flatMap((port) =>
    textsOf(port, 'networks').flatMap((text) => {
      const cidr = parseCidr(text);
      return cidr === undefined ? [] : [{ name: `peering ${textOf(port, 'name')}`, cidr }];
    }),
  );
  return ranges.sort((a, b) => (formatCidr(a.cidr) < formatCidr(b.cidr) ? -1 : 1));
}

/** Chassis of this cluster, by name. */
export function readChassis(southbound: Cache): ReadonlyMap<string, LocalChassis> {
  const chassis = new Map<string, LocalChassis>();
  for (const row of southbound.table('Chassis').rows.values()) {
    const config = { ...mapOf(row, 'external_ids'), ...mapOf(row, 'other_config') };
    if (config['is-remote'] === 'true') continue;
    const name = textOf(row, 'name');
    chassis.set(name, { gateway: gatewayOf(southbound, row), isInterconnect: config['is-interconn'] === 'true' });
  }
  return new Map([...chassis].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Chassis of other clusters that this room wrote, by the handle of their cluster. */
export function readRemoteGateways(southbound: Cache): ReadonlyMap<string, readonly Gateway[]> {
  const gateways = new Map<string, Gateway[]>();
  for (const row of southbound.table('Chassis').rows.values()) {
    const handle = handleOfRow(row);
    if (handle === undefined) continue;
    const known = gateways.get(handle) ?? [];
    known.push(gatewayOf(southbound, row));
    gateways.set(handle, known);
  }
  return gateways;
}

/** Whether northd has a chassis in some group of the southbound database. */
export function isGrouped(southbound: Cache, chassis: string): boolean {
  const [row] = southbound.table('Chassis').byIndex(['name'], [chassis]);
  return row !== undefined && southbound.table('HA_Chassis').byIndex(['chassis'], [row._uuid]).length > 0;
}

function gatewayOf(southbound: Cache, row: Row): Gateway {
  const encaps = textsOf(row, 'encaps').flatMap((uuid) => {
    const encap = southbound.table('Encap').rows.get(uuid);
    if (encap === undefined || textOf(encap, 'type') !== 'geneve') return [];
    return [{ type: 'geneve', ip: textOf(encap, 'ip'), options: mapOf(encap, 'options') }];
  });
  encaps.sort((a, b) => (a.ip < b.ip ? -1 : 1));
  return { chassis: textOf(row, 'name'), hostname: textOf(row, 'hostname'), encaps };
}

/** A transit router port of this cluster as the databases have it. */
export interface PresentPort {
  readonly mac: string;
  readonly networks: readonly string[];
  readonly tunnelKey: number;
  /** Chassis that may hold it, highest priority first. */
  readonly order: readonly string[];
}

/** The name in the transit router ports that are there from before; undefined if there are none. */
export function readHandle(northbound: Cache): string | undefined {
  for (const row of northbound.table('Logical_Router_Port').rows.values()) {
    const owner = ownerOf(row);
    const suffix = owner?.room === 'interconnect' ? switchOfOwner(owner.name) : undefined;
    const name = textOf(row, 'name');
    if (suffix !== undefined && name.endsWith(`-${suffix}`)) return name.slice(0, -suffix.length - 1);
  }
  return undefined;
}

/** Undefined if the router has no such port. */
export function readPort(northbound: Cache, handle: string, logicalSwitch: string): PresentPort | undefined {
  const port = northbound.table('Logical_Router_Port').byIndex(['name'], [transitRouterPort(handle, logicalSwitch)])[0];
  if (port === undefined) return undefined;
  const peer = northbound.table('Logical_Switch_Port').byIndex(['name'], [`${logicalSwitch}-${handle}`])[0];
  const key = peer === undefined ? undefined : mapOf(peer, 'options')['requested-tnl-key'];
  const chassis = textsOf(port, 'gateway_chassis').flatMap((uuid) => {
    const row = northbound.table('Gateway_Chassis').rows.get(uuid);
    return row === undefined ? [] : [{ name: textOf(row, 'chassis_name'), priority: integerOf(row, 'priority') }];
  });
  chassis.sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
  return {
    mac: textOf(port, 'mac'),
    networks: textsOf(port, 'networks'),
    tunnelKey: Number(key ?? 0),
    order: chassis.map(({ name }) => name),
  };
}

/** The router that has a member's port on the switch; empty if none has. */
export function readRouterOf(northbound: Cache, handle: string, logicalSwitch: string): string {
  const name = transitRouterPort(handle, logicalSwitch);
  const [port] = northbound.table('Logical_Router_Port').byIndex(['name'], [name]);
  if (port === undefined) return '';
  const routers = [...northbound.table('Logical_Router').rows.values()];
  const router = routers.find((row) => textsOf(row, 'ports').includes(port._uuid));
  return router === undefined ? '' : textOf(router, 'name');
}

/** The chassis that forwards for a transit router port; empty while none does. */
export function readHolder(southbound: Cache, handle: string, logicalSwitch: string): string {
  const name = redirectPort(handle, logicalSwitch);
  const binding = southbound.table('Port_Binding').byIndex(['logical_port'], [name])[0];
  const chassis = southbound.table('Chassis').rows.get(binding === undefined ? '' : textOf(binding, 'chassis'));
  return chassis === undefined ? '' : textOf(chassis, 'name');
}

/**
 * Chassis that show the last gateway of a transit router port that it is not cut off. northd names the group after the
 * port.
 */
export function readWitnesses(southbound: Cache, handle: string, logicalSwitch: string): ReadonlySet<string> {
  const name = transitRouterPort(handle, logicalSwitch);
  const [group] = southbound.table('HA_Chassis_Group').byIndex(['name'], [name]);
  const { rows } = southbound.table('Chassis');
  const chassis = (group === undefined ? [] : textsOf(group, 'ref_chassis')).flatMap((uuid) => rows.get(uuid) ?? []);
  return new Set(chassis.map((row) => textOf(row, 'name')));
}

/** Addresses of next hops that carry a cluster's traffic, by handle: the owner of a route names the cluster. */
export function readNextHops(northbound: Cache): ReadonlyMap<string, ReadonlySet<string>> {
  return readRoutes(northbound, 'nexthop');
}

/** Prefixes that have routes to other clusters, by handle. */
export function readRoutedPrefixes(northbound: Cache): ReadonlyMap<string, ReadonlySet<string>> {
  return readRoutes(northbound, 'ip_prefix');
}

function readRoutes(northbound: Cache, column: string): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const row of northbound.table('Logical_Router_Static_Route').rows.values()) {
    const handle = handleOfRow(row);
    if (handle === undefined) continue;
    const known = found.get(handle) ?? new Set<string>();
    found.set(handle, known.add(textOf(row, column)));
  }
  return found;
}

/** The addresses of imports, by `namespace/name`. */
export function readImportIps(northbound: Cache): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const row of northbound.table('Load_Balancer').rows.values()) {
    const owner = ownerOf(row);
    const key = owner?.room === 'interconnect' ? importOfOwner(owner.name) : undefined;
    if (key === undefined) continue;
    const addresses = Object.keys(mapOf(row, 'vips')).map((vip) =>
      vip.replace(/:[0-9]+$/, '').replaceAll(/[[\]]/g, ''),
    );
    found.set(key, (found.get(key) ?? new Set<string>()).union(new Set(addresses)));
  }
  return new Map([...found].map(([key, addresses]) => [key, [...addresses]]));
}

/** The handle of the other cluster that this room wrote the row for, if it did. */
function handleOfRow(row: Row): string | undefined {
  const owner = ownerOf(row);
  return owner?.room === 'interconnect' ? handleOfOwner(owner.name) : undefined;
}
