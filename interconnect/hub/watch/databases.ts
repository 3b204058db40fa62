/**
 * The IC databases as networks, members and datapaths. In: the two caches. Out: immutable values. Called by the hub at
 * its start, for what earlier processes wrote; other zones are in foreign.ts.
 */
import type { Cache, OvsdbOptions, Row } from 'ovsdb-client';
import { z } from 'zod';
import { ownerOf } from '../../../lib/ovn/owner.ts';
import type { EncryptionWish, Gateway, Prefix, WireGuard } from '../../model/messages.ts';
import { integerOf, mapOf, textOf, textsOf } from '../../../lib/ovn/columns.ts';
import { mostPaths } from '../../model/path-names.ts';
import { checkCidrs, pathIndex } from '../model/paths.ts';
import { encapKey, handleOfOwner, hubId } from '../model/owners.ts';
import type {
  AttachmentRecord,
  MemberRecord,
  NetworkDefinition,
  NetworkPath,
  PortRecord,
  FoundDatapath,
} from '../model/record.ts';

export const hubRoom = 'hub';

/** Tables of both databases that the hub mirrors. */
export const icNorthbound = {
  database: 'OVN_IC_Northbound',
  monitor: { Transit_Switch: undefined },
} as const satisfies Partial<OvsdbOptions>;
export const icSouthbound = {
  database: 'OVN_IC_Southbound',
  monitor: {
    Availability_Zone: undefined,
    Datapath_Binding: undefined,
    Encap: undefined,
    Gateway: undefined,
    Port_Binding: undefined,
    Route: undefined,
  },
  indexes: {
    Availability_Zone: [['name']],
    Datapath_Binding: [['transit_switch'], ['tunnel_key']],
    Gateway: [['availability_zone'], ['name']],
    Port_Binding: [['availability_zone']],
    Route: [['availability_zone']],
  },
} as const satisfies Partial<OvsdbOptions>;

/** Keys of rows in tables without name and external_ids, and of those that OVN itself looks up by a column. */
export function icKeyOf(table: string, row: Row): string | undefined {
  if (table === 'Encap') return encapKey(textOf(row, 'type'), textOf(row, 'ip'));
  if (table === 'Port_Binding') return textOf(row, 'logical_port');
  return undefined;
}

export interface FoundNetwork {
  readonly definition: NetworkDefinition;
  readonly paths: readonly NetworkPath[];
}

/** The networks of this hub by IC-NB; a row that cannot be read is left out, and its network writes it again. */
export function readNetworks(northbound: Cache, southbound: Cache): readonly FoundNetwork[] {
  const networks = new Map<string, { definition: NetworkDefinition; paths: NetworkPath[] }>();
  for (const row of northbound.table('Transit_Switch').rows.values()) {
    const ids = mapOf(row, 'external_ids');
    const name = ids[hubId.network];
    const pathSwitch = textOf(row, 'name');
    const cidrs = checkCidrs(namesIn(ids[hubId.cidrs]));
    const index = name === undefined ? undefined : pathIndex(name, pathSwitch);
    const paths = Number(ids[hubId.paths]);
    const isCount = Number.isInteger(paths) && paths >= 1 && paths <= mostPaths;
    if (!isOurs(row) || name === undefined || index === undefined || typeof cidrs === 'string' || !isCount) continue;
    const definition = {
      name,
      cidrs,
      definedBy: ids[hubId.definedBy] ?? '',
      clusters: namesIn(ids[hubId.clusters]),
      paths,
    };
    const known = networks.get(name) ?? { definition, paths: [] };
    const tunnelKey = readDatapath(southbound, pathSwitch)?.tunnelKey;
    if (tunnelKey !== undefined)
      known.paths.push({
        network: name,
        index,
        switch: pathSwitch,
        cidrs: namesIn(ids['subnet']),
        tunnelKey,
        retiring: index >= paths,
      });
    networks.set(name, known);
  }
  return [...networks.values()];
}

/** The subnet of a switch of this name that is not the hub's; undefined if there is no such switch. */
export function readForeignSwitch(northbound: Cache, name: string): string | undefined {
  const rows = northbound.table('Transit_Switch').rows.values();
  const row = rows.find((one) => textOf(one, 'name') === name && !isOurs(one));
  return row === undefined ? undefined : (mapOf(row, 'external_ids')['subnet'] ?? '');
}

/** The datapath of a switch: that of a foreign zone if there is one, otherwise that of the hub. */
export function readDatapath(southbound: Cache, pathSwitch: string): FoundDatapath | undefined {
  const rows = southbound.table('Datapath_Binding').byIndex(['transit_switch'], [pathSwitch]);
  const foreign = rows.find((row) => !isOurs(row));
  const row = foreign ?? rows[0];
  if (row === undefined) return undefined;
  return { tunnelKey: integerOf(row, 'tunnel_key'), isForeign: foreign !== undefined };
}

/** Members by their handles, read from their rows: the hub's memory across restarts. */
export function readMembers(southbound: Cache): ReadonlyMap<string, MemberRecord> {
  const members = new Map<string, RowsOfMember>();
  for (const table of ['Gateway', 'Port_Binding', 'Route'] as const) {
    for (const row of southbound.table(table).rows.values()) {
      const owner = ownerOf(row);
      const handle = owner?.room === hubRoom ? handleOfOwner(owner.name) : undefined;
      if (handle === undefined) continue;
      const known = members.get(handle) ?? { Gateway: [], Port_Binding: [], Route: [] };
      known[table].push(row);
      members.set(handle, known);
    }
  }
  return new Map([...members].map(([handle, rows]) => [handle, memberOf(handle, rows, southbound)]));
}

type RowsOfMember = Record<'Gateway' | 'Port_Binding' | 'Route', Row[]>;

function memberOf(handle: string, rows: RowsOfMember, southbound: Cache): MemberRecord {
  const gateways = rows.Gateway.map((row): Gateway => {
    const wireGuard = wireGuardOf(row);
    return { ...gatewayOf(southbound, row), ...(wireGuard === undefined ? {} : { wireGuard }) };
  });
  const encryption = rows.Gateway.map(encryptionOf).find((wish) => wish !== undefined);
  const attachments = new Map<string, AttachmentRecord>();
  for (const row of rows.Port_Binding) {
    const ids = mapOf(row, 'external_ids');
    const network = ids[hubId.network] ?? '';
    const port = portOf(network, row);
    if (port === undefined) continue;
    const known = attachments.get(network);
    const prefixes = hiddenPrefixes(ids);
    const ports = [...(known?.ports ?? []), port].sort((a, b) => a.index - b.index);
    const [vpc, routerId] = [ids[hubId.vpc] ?? '', ids['router-id'] ?? ''];
    attachments.set(network, { network, vpc, routerId, prefixes: [...(known?.prefixes ?? []), ...prefixes], ports });
  }
  for (const attachment of attachments.values())
    attachments.set(attachment.network, withPrefixes(attachment, rows.Route));
  const byNetwork = [...attachments.values()].sort((a, b) => (a.network < b.network ? -1 : 1));
  const name = zoneOf([...rows.Gateway, ...rows.Port_Binding], southbound) ?? handle;
  gateways.sort((a, b) => (a.chassis < b.chassis ? -1 : 1));
  return { name, handle, gateways, attachments: byNetwork, ...(encryption === undefined ? {} : { encryption }) };
}

/** The availability zone has the name that the member had when its rows were written. */
function zoneOf([row]: readonly Row[], southbound: Cache): string | undefined {
  const zone =
    row === undefined ? undefined : southbound.table('Availability_Zone').rows.get(textOf(row, 'availability_zone'));
  return zone === undefined ? undefined : textOf(zone, 'name');
}

function portOf(network: string, row: Row): PortRecord | undefined {
  const pathSwitch = textOf(row, 'transit_switch');
  const index = pathIndex(network, pathSwitch);
  if (index === undefined) return undefined;
  const ids = mapOf(row, 'external_ids');
  const [mac = '', ...networks] = textOf(row, 'address').split(' ');
  return {
    switch: pathSwitch,
    index,
    mac,
    networks,
    tunnelKey: integerOf(row, 'tunnel_key'),
    gateways: namesIn(ids[hubId.gateways]),
    holder: textOf(row, 'gateway'),
    draining: ids[hubId.draining] === 'true',
  };
}

/** A public prefix is a route on each path. */
function withPrefixes(attachment: AttachmentRecord, routes: readonly Row[]): AttachmentRecord {
  const prefixes = new Map(attachment.prefixes.map((prefix) => [prefix.cidr, prefix]));
  for (const row of routes) {
    if (pathIndex(attachment.network, textOf(row, 'transit_switch')) === undefined) continue;
    const ids = mapOf(row, 'external_ids');
    const cidr = textOf(row, 'ip_prefix');
    const origin = ids[hubId.origin] ?? textOf(row, 'origin');
    const via = namesIn(ids[hubId.via]);
    prefixes.set(cidr, { cidr, origin, tags: textList(ids[hubId.tags]), via, only: [], except: [] });
  }
  return { ...attachment, prefixes: [...prefixes.values()].sort((a, b) => (a.cidr < b.cidr ? -1 : 1)) };
}

const texts = z.array(z.string());
const hiddenPrefix = z.object({ origin: z.string(), tags: texts, via: texts, only: texts, except: texts });

function hiddenPrefixes(ids: Readonly<Record<string, string>>): readonly Prefix[] {
  return Object.entries(ids).flatMap(([key, text]) => {
    if (!key.startsWith(hubId.hiddenPrefix)) return [];
    const parsed = hiddenPrefix.safeParse(parseJson(text));
    return parsed.success ? [{ cidr: key.slice(hubId.hiddenPrefix.length), ...parsed.data }] : [];
  });
}

const wireGuardShape = z.object({
  publicKey: z.string(),
  endpoints: texts,
  address: z.string(),
  nextKey: z.string().default(''),
});
const mode = z.enum(['off', 'preferred', 'required']);
const encryptionShape = z.object({ mode, clusters: z.record(z.string(), mode) });

function wireGuardOf(row: Row): WireGuard | undefined {
  const { data } = wireGuardShape.safeParse(parseJson(mapOf(row, 'external_ids')[hubId.wireGuard] ?? ''));
  if (data === undefined) return undefined;
  const { nextKey, ...rest } = data;
  return nextKey === '' ? rest : { ...rest, nextKey };
}

function encryptionOf(row: Row): EncryptionWish | undefined {
  return encryptionShape.safeParse(parseJson(mapOf(row, 'external_ids')[hubId.encryption] ?? '')).data;
}

export function gatewayOf(southbound: Cache, row: Row): Gateway {
  const encaps = textsOf(row, 'encaps').flatMap((uuid) => {
    const encap = southbound.table('Encap').rows.get(uuid);
    if (encap === undefined) return [];
    return [{ type: textOf(encap, 'type'), ip: textOf(encap, 'ip'), options: mapOf(encap, 'options') }];
  });
  encaps.sort((a, b) => (a.ip < b.ip ? -1 : 1));
  return { chassis: textOf(row, 'name'), hostname: textOf(row, 'hostname'), encaps };
}

export function isOurs(row: Row): boolean {
  return ownerOf(row)?.room === hubRoom;
}

function namesIn(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? [] : text.split(',');
}

function textList(text: string | undefined): readonly string[] {
  const parsed = texts.safeParse(parseJson(text ?? '[]'));
  return parsed.success ? parsed.data : [];
}

/** A person may have edited the row: an unreadable value is written again once the member is back. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
