/** Zones of IC-SB that Isthmus did not create: found by name, removed with all their rows. */
import type { Operation, OvsdbClient } from 'ovsdb-client';

const zonesAtOnce = 50;
const tables = ['Route', 'Port_Binding', 'Gateway'];

/** The uuid of a zone's row. @throws Error if IC-SB has none of that name. */
export function zoneOf(southbound: OvsdbClient, name: string): string {
  const found = [...southbound.cache.table('Availability_Zone').rows].find(([, row]) => row['name'] === name);
  if (found === undefined) throw new Error(`IC-SB has no zone ${name}`);
  return found[0];
}

/** Encapsulations go with the gateways that refer to them. */
export async function removeZones(southbound: OvsdbClient, isIt: (name: string) => boolean): Promise<void> {
  await southbound.synced();
  const zones = [...southbound.cache.table('Availability_Zone').rows].filter(([, row]) => isIt(row['name'] as string));
  for (let at = 0; at < zones.length; at += zonesAtOnce)
    await southbound.transact(zones.slice(at, at + zonesAtOnce).flatMap(([uuid]) => removal(uuid)));
}

function removal(uuid: string): Operation[] {
  const belongs = tables.map((table): Operation => ({
    op: 'delete',
    table,
    where: [['availability_zone', '==', uuid]],
  }));
  return [...belongs, { op: 'delete', table: 'Availability_Zone', where: [['_uuid', '==', uuid]] }];
}
