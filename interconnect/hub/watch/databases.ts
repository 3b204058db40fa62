/**
 * The IC databases as members, foreign zones and the transit switch. In: the two caches. Out: immutable values.
 * Called by the hub at start, for its own rows, and on every change, for those of others.
 */
import type { Cache, Row } from 'ovsdb-client';
import { formatCidr, parseCidr } from '../../../lib/net/cidr.ts';
import { ownerOf } from '../../../lib/ovn/owner.ts';
import type { Gateway, Port, Route } from '../../link/messages.ts';
import { integerOf, mapOf, textOf, textsOf } from '../../watch/row.ts';
import { encapKey } from '../plan/rows.ts';
import { logicalPortOf, type ForeignMember, type MemberRecord } from '../state/record.ts';

export const hubRoom = 'hub';

export const icNorthboundMonitor = { Transit_Switch: undefined };
export const icSouthboundMonitor = {
  Availability_Zone: undefined,
  Datapath_Binding: undefined,
  Encap: undefined,
  Gateway: undefined,
  Port_Binding: undefined,
  Route: undefined,
};

/** Keys of rows in tables without name and external_ids, and of those that OVN itself looks up by a column. */
export function icKeyOf(table: string, row: Row): string | undefined {
  if (table === 'Encap') return encapKey(textOf(row, 'type'), textOf(row, 'ip'));
  if (table === 'Port_Binding') return textOf(row, 'logical_port');
  return undefined;
}

/** Members as their rows tell: the hub's memory across restarts. */
export function readMembers(cache: Cache, network: string): ReadonlyMap<string, MemberRecord> {
  const records = new Map<string, MemberRecord>();
  const zones = zoneNames(cache);
  for (const row of cache.table('Port_Binding').rows.values()) {
    const name = zones.get(textOf(row, 'availability_zone'));
    if (name === undefined || !isOurs(row) || textOf(row, 'logical_port') !== logicalPortOf(network, name)) continue;
    const [mac = '', ...networks] = textOf(row, 'address').split(' ');
    records.set(name, {
      name,
      gateways: gatewaysOf(cache, textOf(row, 'availability_zone'), isOurs),
      activeGateway: textOf(row, 'gateway'),
      prefixes: prefixesOf(cache, textOf(row, 'availability_zone')),
      routerId: mapOf(row, 'external_ids')['router-id'] ?? '',
      port: { mac, networks, tunnelKey: integerOf(row, 'tunnel_key') },
    });
  }
  return records;
}

/** Zones that are no members: what their own ovn-ic wrote. */
export function readForeign(cache: Cache, isMember: (name: string) => boolean): readonly ForeignMember[] {
  const foreign: ForeignMember[] = [];
  for (const [zone, name] of zoneNames(cache)) {
    if (isMember(name)) continue;
    const gateways = gatewaysOf(cache, zone, (row) => !isOurs(row));
    const ports = rowsOf(cache, 'Port_Binding', zone).map(portOf);
    const routes = rowsOf(cache, 'Route', zone).flatMap(routeOf);
    foreign.push({ name, foreign: true, connected: true, lastSeenMs: 0, gateways, ports, routes });
  }
  return foreign;
}

export interface FoundNetwork {
  /** Of our own Transit_Switch row, or of one that was made by hand. */
  readonly cidr: string | undefined;
  /** Key of the datapath, whoever made it. */
  readonly tunnelKey: number | undefined;
  /** Whether somebody else made the datapath. */
  readonly isForeign: boolean;
  readonly usedKeys: ReadonlySet<number>;
}

export function readNetwork(northbound: Cache, southbound: Cache, name: string): FoundNetwork {
  const rows = [...northbound.table('Transit_Switch').rows.values()];
  const transitSwitch = rows.find((row) => textOf(row, 'name') === name);
  const datapaths = [...southbound.table('Datapath_Binding').rows.values()];
  const own = datapaths.filter((row) => textOf(row, 'transit_switch') === name);
  const foreign = own.find((row) => !isOurs(row));
  const datapath = foreign ?? own[0];
  return {
    cidr: transitSwitch === undefined ? undefined : mapOf(transitSwitch, 'external_ids')['subnet'],
    tunnelKey: datapath === undefined ? undefined : integerOf(datapath, 'tunnel_key'),
    isForeign: foreign !== undefined,
    usedKeys: new Set(datapaths.map((row) => integerOf(row, 'tunnel_key'))),
  };
}

function isOurs(row: Row): boolean {
  return ownerOf(row)?.room === hubRoom;
}

function zoneNames(cache: Cache): ReadonlyMap<string, string> {
  return new Map([...cache.table('Availability_Zone').rows].map(([uuid, row]) => [uuid, textOf(row, 'name')]));
}

function rowsOf(cache: Cache, table: string, zone: string): readonly Row[] {
  return [...cache.table(table).rows.values()].filter((row) => textOf(row, 'availability_zone') === zone);
}

function gatewaysOf(cache: Cache, zone: string, accept: (row: Row) => boolean): readonly Gateway[] {
  const gateways = rowsOf(cache, 'Gateway', zone)
    .filter(accept)
    .map((row) => ({
      chassis: textOf(row, 'name'),
      hostname: textOf(row, 'hostname'),
      encaps: textsOf(row, 'encaps').flatMap((uuid) => {
        const encap = cache.table('Encap').rows.get(uuid);
        if (encap === undefined) return [];
        return [{ type: textOf(encap, 'type'), ip: textOf(encap, 'ip'), options: mapOf(encap, 'options') }];
      }),
    }));
  return gateways.sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
}

function prefixesOf(cache: Cache, zone: string): readonly string[] {
  const routes = rowsOf(cache, 'Route', zone).filter(isOurs);
  return routes.map((row) => textOf(row, 'ip_prefix')).sort();
}

function portOf(row: Row): Port {
  const [mac = '', ...networks] = textOf(row, 'address').split(' ');
  return {
    transitSwitch: textOf(row, 'transit_switch'),
    logicalPort: textOf(row, 'logical_port'),
    mac,
    networks,
    tunnelKey: integerOf(row, 'tunnel_key'),
    gateway: textOf(row, 'gateway'),
  };
}

/** ovn-ic stores prefixes as the port has them ("10.0.2.1/24"): normalised here. */
function routeOf(row: Row): readonly Route[] {
  const cidr = parseCidr(textOf(row, 'ip_prefix'));
  // Routes of other route tables belong to other routers of that zone.
  if (cidr === undefined || textOf(row, 'route_table') !== '') return [];
  const [transitSwitch, nexthop, origin] = ['transit_switch', 'nexthop', 'origin'].map((column) => textOf(row, column));
  return [
    { transitSwitch: transitSwitch ?? '', prefix: formatCidr(cidr), nexthop: nexthop ?? '', origin: origin ?? '' },
  ];
}
