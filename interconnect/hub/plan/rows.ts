/** A member and the transit switch as rows of the IC databases, in the form ovn-ic gives them. Pure. */
import { externalId, vendor } from '../../../lib/api/names.ts';
import { ref, type Desired, type DesiredRow } from '../../../lib/desired/row.ts';
import { logicalPortOf, type MemberRecord, type TransitNetwork } from '../state/record.ts';

/** Of the target's rows for one member. */
export function memberOwner(cluster: string): string {
  return `member/${cluster}`;
}
export const networkOwner = 'network/transit';

/** Key of an Encap row: the table has neither names nor external_ids, only this unique index. */
export function encapKey(type: string, ip: string): string {
  return `${type}/${ip}`;
}

export function planMember(record: MemberRecord, network: TransitNetwork): Desired {
  const zone = ref('Availability_Zone', record.name);
  const logicalPort = logicalPortOf(network.name, record.name);
  const rows: DesiredRow[] = [{ table: 'Availability_Zone', key: record.name, columns: {} }];
  for (const { chassis, hostname, encaps } of record.gateways) {
    for (const { type, ip, options } of encaps) {
      rows.push({ table: 'Encap', key: encapKey(type, ip), columns: { type, ip, options, gateway_name: chassis } });
    }
    const refs = encaps.map(({ type, ip }) => ref('Encap', encapKey(type, ip)));
    rows.push({ table: 'Gateway', key: chassis, columns: { hostname, availability_zone: zone, encaps: refs } });
  }
  rows.push({
    table: 'Port_Binding',
    key: logicalPort,
    columns: {
      logical_port: logicalPort,
      transit_switch: network.name,
      availability_zone: zone,
      tunnel_key: record.port.tunnelKey,
      gateway: record.activeGateway,
      address: [record.port.mac, ...record.port.networks].join(' '),
      external_ids: record.routerId === '' ? {} : { 'router-id': record.routerId },
    },
  });
  for (const prefix of record.prefixes) {
    const nexthop = nexthopFor(prefix, record.port.networks);
    if (nexthop === undefined) continue;
    rows.push({
      table: 'Route',
      key: `${record.name}/${prefix}`,
      columns: {
        transit_switch: network.name,
        availability_zone: zone,
        route_table: '',
        ip_prefix: prefix,
        nexthop,
        origin: 'connected',
        // Later releases of ovn-ic pass over routes that do not say whose router they are of.
        external_ids: record.routerId === '' ? {} : { 'lr-id': record.routerId },
      },
    });
  }
  return { rows };
}

/** The member's address of the prefix's family; undefined where the transit network lacks the family. */
export function nexthopFor(prefix: string, networks: readonly string[]): string | undefined {
  const isV6 = prefix.includes(':');
  return networks.find((network) => network.includes(':') === isV6)?.split('/')[0];
}

export function planSwitch(network: TransitNetwork): Desired {
  const row = {
    table: 'Transit_Switch',
    key: network.name,
    columns: { external_ids: { [externalId.vendor]: vendor, subnet: network.cidr } },
  };
  return { rows: [row] };
}

export function planDatapath(network: TransitNetwork): Desired {
  return {
    rows: [
      {
        table: 'Datapath_Binding',
        key: network.name,
        columns: { transit_switch: network.name, tunnel_key: network.tunnelKey },
      },
    ],
  };
}
