/**
 * The northbound database as this room sees it: opened with the tables and columns that it writes, and read before
 * Kubernetes is informed that rows exist.
 */
import { entryOf } from '../../lib/desired/entry-of.ts';
import { openOvsdb } from 'ovsdb-client';
import type { ColumnSchema, OvsdbClient, OvsdbOptions, Row } from 'ovsdb-client';
import { parseIp } from '../../lib/net/ip.ts';
import { externalId, joinSubnet, nodePortName, vendor } from '../../lib/api/names.ts';
import { integerOf, mapOf, textOf, textsOf } from '../../lib/ovn/columns.ts';
import { externalIdOf, ownerOf } from '../../lib/ovn/owner.ts';

import { nodeServicePort, upstreamKey } from '../model/ovn-names.ts';
import { recordOfRow, serviceRecordOfRow } from '../settle/address/records.ts';
import type { PortRecord } from '../settle/address/records.ts';
import { isolationGroup } from '../../lib/policies/group-names.ts';
import { policyDirections, type PolicyDirection } from '../../lib/policies/selection.ts';
import { leftOf, type DomainRecord } from '../model/domain.ts';
import { heldBy } from '../settle/node/traits.ts';
import type { Capabilities, FormerRow } from '../model/view.ts';
import type { UpstreamSession } from './upstreams.ts';
import { ForeignPorts } from './foreign-ports.ts';
import type { ForeignListener } from './foreign-ports.ts';

/** The room's name in the owner ids of its rows. */
export const room = 'controller';

const common = ['name', 'external_ids'];
/** Every column that plans write must be listed: a missing one would count as empty and never be cleared. */
export const monitor: Readonly<Record<string, readonly string[]>> = {
  NB_Global: ['options', 'external_ids'],
  Logical_Router: [...common, 'options', 'ports', 'policies', 'static_routes', 'nat', 'load_balancer'],
  Logical_Router_Port: [...common, 'mac', 'networks', 'peer', 'options', 'ipv6_ra_configs', 'gateway_chassis'],
  Gateway_Chassis: [...common, 'chassis_name', 'priority'],
  NAT: ['type', 'external_ip', 'logical_ip', 'external_mac', 'logical_port', 'gateway_port', 'external_ids'],
  Logical_Router_Static_Route: [
    'ip_prefix',
    'nexthop',
    'policy',
    'route_table',
    'output_port',
    'bfd',
    'selection_fields',
    'options',
    'external_ids',
  ],
  BFD: ['logical_port', 'dst_ip', 'min_tx', 'min_rx', 'detect_mult', 'status', 'external_ids'],
  Logical_Router_Policy: ['priority', 'match', 'action', 'nexthops', 'external_ids'],
  Logical_Switch: [...common, 'ports', 'acls', 'load_balancer', 'load_balancer_group', 'qos_rules', 'other_config'],
  Logical_Switch_Port: [
    ...common,
    'type',
    'addresses',
    'dynamic_addresses',
    'port_security',
    'options',
    'dhcpv4_options',
    'dhcpv6_options',
    'tag',
  ],
  Port_Group: [...common, 'ports', 'acls'],
  ACL: [
    'name',
    'direction',
    'priority',
    'match',
    'action',
    'log',
    'severity',
    'meter',
    'tier',
    'options',
    'external_ids',
  ],
  DHCP_Options: ['cidr', 'options', 'external_ids'],
  QoS: ['priority', 'direction', 'match', 'action', 'bandwidth', 'external_ids'],
  Address_Set: [...common, 'addresses'],
  Load_Balancer: [...common, 'protocol', 'vips', 'selection_fields', 'options', 'ip_port_mappings', 'health_check'],
  Load_Balancer_Health_Check: ['vip', 'options', 'external_ids'],
  Load_Balancer_Group: ['name', 'load_balancer'],
  Chassis_Template_Var: ['chassis', 'variables', 'external_ids'],
  Meter: ['name', 'unit', 'fair', 'bands', 'external_ids'],
  Meter_Band: ['action', 'rate', 'burst_size', 'external_ids'],
};

/** Tables that no plan writes to. A dry run lists the rows that a former Kube-OVN has in them. */
const others = ['Copp', 'DNS', 'Forwarding_Group', 'HA_Chassis', 'HA_Chassis_Group', 'Mirror', 'Static_MAC_Binding'];

/** All tables with all columns. */
const whole = Object.fromEntries([...Object.keys(monitor), ...others].map((table) => [table, undefined]));

export interface Northbound {
  readonly client: OvsdbClient;
  /** Features of this version of OVN, according to its schema. */
  readonly capabilities: Omit<Capabilities, 'loadBalancers' | 'externalIps' | 'apiServer' | 'clusterDomain'>;
  /** Whether a port exists, with exactly these addresses if they are given. */
  hasPort(name: string, addresses?: string): boolean;
  /** Whether a switch of this room exists. */
  hasSwitch(name: string): boolean;
  /** The uuid of the row of DHCP options with this key. */
  dhcpOptions(key: string): string | undefined;
  /** Whether a router of this room exists. */
  hasRouter(name: string): boolean;
  /** Calls the listener with the name of each switch port that was deleted from the database. */
  onPortGone(listener: (name: string) => void): void;
  /** Reports the addresses that foreign ports and routers use: all existing ones at once, then every change. */
  followForeignPorts(listener: ForeignListener): void;
  /** Addresses of the ports of this room, and of ports without an owner that may be adopted, by port name. */
  portRecords(): ReadonlyMap<string, PortRecord>;
  /** Nodes that own rows of which only one node can be the owner, by the name of the port group or by the address. */
  nodeHolders(): ReadonlyMap<string, string>;
  /** The chassis of each router port with several gateways or one, by the name of the port, the one with the highest priority first. */
  gatewayOrders(): ReadonlyMap<string, readonly string[]>;
  /** The BFD sessions of this room with routers outside, as `upstreamKey` names them. */
  upstreamSessions(): ReadonlyMap<string, UpstreamSession>;
  /** Calls the listener after each change of these sessions. */
  onUpstreams(listener: () => void): void;
  /** Whether policies have port groups of their own, as earlier versions wrote them. */
  hasGroupsOfPolicies(): boolean;
  /** For each policy, the port groups with its ACLs. */
  groupsOfAcls(): ReadonlyMap<string, ReadonlySet<string>>;
  /** The addresses of domain names in the rows of this room, by name. */
  domainRecords(): ReadonlyMap<string, DomainRecord>;
  /** Port groups and address sets of a former Kube-OVN's network policies. */
  formerPolicies(): readonly FormerRow[];
  /** The names of the ports that NetworkPolicies isolate in each direction. */
  isolatedPorts(): ReadonlyMap<PolicyDirection, ReadonlySet<string>>;
  /** Whether the port group has a port that this room did not adopt. */
  hasForeignPorts(portGroup: string): boolean;
}

function isOurs(row: Row | undefined): boolean {
  return row !== undefined && ownerOf(row)?.room === room;
}

/** The part behind `feature/` in the name of the row's owner; undefined for owners of other features or rooms. */
function ownedBy(row: Row, feature: string): string | undefined {
  const owner = ownerOf(row);
  return owner?.room === room && owner.name.startsWith(`${feature}/`)
    ? owner.name.slice(feature.length + 1)
    : undefined;
}

/** Whether Kube-OVN made the row for a network policy: it names no node, as its port groups of gateways do. */
function isFormerPolicy(row: Row): boolean {
  const { np, node, vendor } = row['external_ids'] as Readonly<Record<string, string>>;
  return ownerOf(row) === undefined && np !== undefined && node === undefined && (vendor ?? 'kube-ovn') === 'kube-ovn';
}

/** A name has two rows in each family: all addresses, with the times of the former ones, and those for new connections, which are the rest. */
function domainRecordsOf(rows: Iterable<Row>): ReadonlyMap<string, DomainRecord> {
  const records = new Map<string, { current: Set<string>; left: Map<string, number> }>();
  for (const row of rows) {
    const name = ownedBy(row, 'domain-name');
    if (name === undefined) continue;
    const record = records.get(name) ?? { current: new Set<string>(), left: new Map<string, number>() };
    records.set(name, record);
    for (const [address, untilMs] of leftOf(mapOf(row, 'external_ids'))) record.left.set(address, untilMs);
    for (const address of textsOf(row, 'addresses')) if (parseIp(address) !== undefined) record.current.add(address);
  }
  return new Map(
    [...records].map(([name, { current, left }]) => [
      name,
      { current: [...current].filter((address) => !left.has(address)), left },
    ]),
  );
}

function gatewayOrdersOf({ cache }: OvsdbClient): ReadonlyMap<string, readonly string[]> {
  const gateways = cache.table('Gateway_Chassis').rows;
  const orders = new Map<string, readonly string[]>();
  for (const row of cache.table('Logical_Router_Port').rows.values()) {
    const found = textsOf(row, 'gateway_chassis').flatMap((uuid) => gateways.get(uuid) ?? []);
    const sorted = found.sort((a, b) => integerOf(b, 'priority') - integerOf(a, 'priority'));
    if (sorted.length > 0)
      orders.set(
        textOf(row, 'name'),
        sorted.map((one) => textOf(one, 'chassis_name')),
      );
  }
  return orders;
}

function upstreamSessionsOf({ cache }: OvsdbClient): ReadonlyMap<string, UpstreamSession> {
  const own = [...cache.table('BFD').rows.values()].filter(isOurs);
  return new Map(
    own.map((row): [string, UpstreamSession] => {
      const { upstream: recorded } = mapOf(row, 'external_ids');
      const before = recorded === 'up' || recorded === 'down' ? recorded : undefined;
      const status = textOf(row, 'status');
      const session: UpstreamSession = {
        ...(status !== 'init' && { isUp: status === 'up' }),
        ...(before !== undefined && { recorded: before }),
      };
      return [upstreamKey(textOf(row, 'logical_port'), textOf(row, 'dst_ip')), session];
    }),
  );
}

/** Whether a version of the schema, `7.0.0`, is this one or a later one. */
function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [is = 0, isMinor = 0] = version.split('.').map(Number);
  return is > major || (is === major && isMinor >= minor);
}

function capabilitiesOf({ schema }: OvsdbClient): Northbound['capabilities'] {
  const column = (table: string, name: string): ColumnSchema | undefined => schema.tables[table]?.columns[name];
  return {
    aclTier: column('ACL', 'tier') !== undefined,
    // Its northd passes load balancers to each of a router's gateway ports.
    severalGateways: isAtLeast(schema.version, [7, 11]),
    routeSelection: column('Logical_Router_Static_Route', 'selection_fields') !== undefined,
    ipv6Selection: column('Load_Balancer', 'selection_fields')?.key.enum?.includes('ipv6_src') === true,
  };
}

export async function openNorthbound(
  options: Pick<OvsdbOptions, 'remotes' | 'tls' | 'leaderOnly' | 'signal' | 'onState'>,
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): Promise<Northbound> {
  const indexes = Object.fromEntries(
    ['Logical_Switch_Port', 'Logical_Switch', 'Logical_Router', 'Logical_Router_Port'].map((table) => [
      table,
      [['name']],
    ]),
  );

  const client = await openOvsdb({
    ...options,
    database: 'OVN_Northbound',
    monitor: isWhole ? whole : monitor,
    indexes,
  });
  const find = (table: string, name: string): Row | undefined => client.cache.table(table).byIndex(['name'], [name])[0];
  return {
    client,
    capabilities: capabilitiesOf(client),
    hasPort: (name, addresses) => {
      const row = find('Logical_Switch_Port', name);
      if (row === undefined || addresses === undefined) return row !== undefined;
      const there = row['addresses'];
      return Array.isArray(there) && there.length === 1 && there[0] === addresses;
    },
    dhcpOptions: (key) => {
      for (const [uuid, row] of client.cache.table('DHCP_Options').rows)
        if (externalIdOf(row, externalId.key) === key && isOurs(row)) return uuid;
      return undefined;
    },
    hasSwitch: (name) => isOurs(find('Logical_Switch', name)),
    hasRouter: (name) => isOurs(find('Logical_Router', name)),
    onPortGone: (listener) => {
      client.subscribe((changes) => {
        for (const { table, before, after } of changes) {
          const name = table === 'Logical_Switch_Port' && after === undefined ? before?.['name'] : undefined;
          if (typeof name === 'string') listener(name);
        }
      });
    },
    followForeignPorts: (listener) => new ForeignPorts(client, isOurs).follow(listener),
    portRecords: () => {
      const records = new Map<string, PortRecord>();
      for (const row of client.cache.table('Logical_Switch_Port').rows.values()) {
        const [first] = Array.isArray(row['addresses']) ? row['addresses'] : [];
        const owner = ownerOf(row);
        const ids = Object.keys((row['external_ids'] ?? {}) as object);
        const isNobodys = ids.length === 0 || externalIdOf(row, externalId.vendor) === vendor;
        const isOthers = owner === undefined ? !isNobodys : owner.room !== room;
        const record =
          !isOthers && typeof first === 'string'
            ? recordOfRow(first, externalIdOf(row, 'ls') || joinSubnet)
            : undefined;
        if (record === undefined || typeof row['name'] !== 'string') continue;
        records.set(row['name'], owner === undefined ? { ...record, isNobodys: true } : record);
        const node = ownedBy(row, 'node');
        const service = row['name'] === nodePortName(node ?? '') ? serviceRecordOfRow(String(first)) : undefined;
        if (node !== undefined && service !== undefined) records.set(nodeServicePort(node), service);
      }
      return records;
    },
    nodeHolders: () => {
      const holders = new Map<string, string>();
      for (const table of ['Port_Group', 'Logical_Router_Policy', 'Logical_Switch_Port'])
        for (const row of client.cache.table(table).rows.values()) {
          const node = ownedBy(row, 'node');
          if (node !== undefined) for (const trait of heldBy(table, row)) holders.set(trait, node);
        }
      return holders;
    },
    gatewayOrders: () => gatewayOrdersOf(client),
    upstreamSessions: () => upstreamSessionsOf(client),
    onUpstreams: (listener) => {
      client.subscribe((changes) => {
        if (changes.some(({ table }) => table === 'BFD')) listener();
      });
    },
    groupsOfAcls() {
      const groups = new Map<string, Set<string>>();
      for (const row of client.cache.table('ACL').rows.values()) {
        const policy = ownedBy(row, 'network-policy') ?? ownedBy(row, 'cluster-policy');
        const { parent } = row['external_ids'] as Readonly<Record<string, string>>;
        if (policy !== undefined && parent !== undefined) entryOf(groups, policy, () => new Set()).add(parent);
      }
      return groups;
    },
    hasGroupsOfPolicies: () =>
      [...client.cache.table('Port_Group').rows.values()].some(
        (row) => ownedBy(row, 'network-policy') !== undefined || ownedBy(row, 'cluster-policy') !== undefined,
      ),
    isolatedPorts: () =>
      new Map(
        policyDirections.map((direction) => {
          const groups = [...client.cache.table('Port_Group').rows.values()];
          const group = groups.find(({ name }) => name === isolationGroup(direction));
          const ports = (group?.['ports'] ?? []) as readonly string[];
          const names = ports.flatMap(
            (uuid) => client.cache.table('Logical_Switch_Port').rows.get(uuid)?.['name'] ?? [],
          );
          return [direction, new Set(names as readonly string[])];
        }),
      ),
    domainRecords: () => domainRecordsOf(client.cache.table('Address_Set').rows.values()),
    formerPolicies: () =>
      (['Port_Group', 'Address_Set'] as const).flatMap((table) =>
        [...client.cache.table(table).rows.values()]
          .filter(isFormerPolicy)
          .map(({ name }) => ({ table, name: name as string })),
      ),
    hasForeignPorts: (portGroup) => {
      const group = [...client.cache.table('Port_Group').rows.values()].find(({ name }) => name === portGroup);
      const ports = (group?.['ports'] ?? []) as readonly string[];
      return ports.some((uuid) => !isOurs(client.cache.table('Logical_Switch_Port').rows.get(uuid)));
    },
  };
}
