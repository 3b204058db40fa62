/**
 * Members and networks as rows of the IC databases, in the form ovn-ic gives them. Pure. Values without a column are in
 * external_ids, so that the databases alone give everything back; `watch/databases.ts` reads them.
 */
import { hubId, encapKey } from '../model/owners.ts';
import { externalId, vendor } from '../../../lib/api/names.ts';
import { ref, type Desired, type DesiredRow, type Ref } from '../../../lib/desired/row.ts';
import type { Gateway, Prefix } from '../../model/messages.ts';
import {
  isPublic,
  logicalPortOf,
  type AttachmentRecord,
  type MemberRecord,
  type Network,
  type NetworkPath,
} from '../model/record.ts';
import { familyOf } from '../../../lib/net/ip.ts';

export function planMember(record: MemberRecord): Desired {
  const { name, handle, gateways, attachments, encryption } = record;
  if (gateways.length === 0 && attachments.length === 0) return { rows: [] };
  const zone = ref('Availability_Zone', name);
  const rows: DesiredRow[] = [{ table: 'Availability_Zone', key: name, columns: {} }];
  for (const gateway of gateways) rows.push(...planGateway(gateway, zone, encryption));
  for (const attachment of attachments) {
    rows.push(...planPorts(handle, attachment, zone));
    for (const prefix of attachment.prefixes)
      if (isPublic(prefix)) rows.push(...planRoutes(handle, prefix, attachment, zone));
  }
  return { rows };
}

function planGateway(
  { chassis, hostname, encaps, wireGuard }: Gateway,
  zone: Ref,
  encryption: MemberRecord['encryption'],
): readonly DesiredRow[] {
  const rows: DesiredRow[] = encaps.map(({ type, ip, options }) => ({
    table: 'Encap',
    key: encapKey(type, ip),
    columns: { type, ip, options, gateway_name: chassis },
  }));
  const refs = encaps.map(({ type, ip }) => ref('Encap', encapKey(type, ip)));
  const ids = filled({
    [hubId.wireGuard]: wireGuard == null ? '' : JSON.stringify(wireGuard),
    [hubId.encryption]: encryption === undefined ? '' : JSON.stringify(encryption),
  });
  const columns = { hostname, availability_zone: zone, encaps: refs, external_ids: ids };
  rows.push({ table: 'Gateway', key: chassis, columns });
  return rows;
}

function planPorts(handle: string, attachment: AttachmentRecord, zone: Ref): readonly DesiredRow[] {
  const { network, vpc, routerId, prefixes, ports } = attachment;
  const hidden = prefixes
    .filter((prefix) => !isPublic(prefix))
    .map(({ cidr, ...rest }) => [`${hubId.hiddenPrefix}${cidr}`, JSON.stringify(rest)] as const);
  return ports.map((port, at) => {
    const logicalPort = logicalPortOf(port.switch, handle);
    const ids = filled({
      'router-id': routerId,
      [hubId.network]: network,
      [hubId.vpc]: vpc,
      [hubId.gateways]: port.gateways.join(','),
      [hubId.draining]: port.draining ? 'true' : '',
    });
    return {
      table: 'Port_Binding',
      key: logicalPort,
      columns: {
        logical_port: logicalPort,
        transit_switch: port.switch,
        availability_zone: zone,
        tunnel_key: port.tunnelKey,
        gateway: port.holder,
        address: [port.mac, ...port.networks].join(' '),
        external_ids: at === 0 ? { ...ids, ...Object.fromEntries(hidden) } : ids,
      },
    };
  });
}

function planRoutes(
  handle: string,
  { cidr, origin, tags, via }: Prefix,
  { routerId, ports }: AttachmentRecord,
  zone: Ref,
): readonly DesiredRow[] {
  return ports.flatMap(({ switch: pathSwitch, networks }) => {
    const nexthop = addressFor(cidr, networks);
    if (nexthop === undefined) return [];
    const row: DesiredRow = {
      table: 'Route',
      key: `${pathSwitch}/${handle}/${cidr}`,
      columns: {
        transit_switch: pathSwitch,
        availability_zone: zone,
        route_table: '',
        ip_prefix: cidr,
        nexthop,
        // The column knows these two.
        origin: origin === 'connected' ? 'connected' : 'static',
        external_ids: filled({
          // Later releases of ovn-ic ignore routes without the id of a router.
          'lr-id': routerId,
          [hubId.origin]: origin === 'connected' || origin === 'static' ? '' : origin,
          [hubId.tags]: tags.length === 0 ? '' : JSON.stringify(tags),
          [hubId.via]: via.join(','),
        }),
      },
    };
    return [row];
  });
}

/** The address of the prefix's family; undefined if there is none. */
export function addressFor(prefix: string, networks: readonly string[]): string | undefined {
  return networks.find((network) => familyOf(network) === familyOf(prefix))?.split('/')[0];
}

export function planSwitch(network: Network, path: NetworkPath): Desired {
  const ids = filled({
    [externalId.vendor]: vendor,
    // Where Kube-OVN has it.
    subnet: path.cidrs.join(','),
    [hubId.network]: network.name,
    [hubId.cidrs]: network.cidrs.join(','),
    [hubId.paths]: String(network.paths),
    [hubId.definedBy]: network.definedBy,
    [hubId.clusters]: network.clusters.join(','),
  });
  return { rows: [{ table: 'Transit_Switch', key: path.switch, columns: { external_ids: ids } }] };
}

export function planDatapath({ switch: name, tunnelKey }: NetworkPath): Desired {
  const columns = { transit_switch: name, tunnel_key: tunnelKey };
  return { rows: [{ table: 'Datapath_Binding', key: name, columns }] };
}

/** Without empty entries. */
function filled(entries: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== ''));
}
