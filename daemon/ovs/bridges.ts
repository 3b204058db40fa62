/** Reads bridges and bridge mappings from the local Open_vSwitch database, and waits for ports that ovs-vswitchd makes. */
import type { OvsdbClient, Row } from 'ovsdb-client';
import { externalId } from '../../lib/api/names.ts';
import { externalIdOf, ownerIdOf } from '../../lib/ovn/owner.ts';
import { mappingsKey, moveKey, ownMappingsKey, ownRouterMacsKey, routedKey, routerMacsKey } from '../model/ovs-keys.ts';
import type { LocalBridges } from '../model/provider-network.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';
import { interfaceError } from './local.ts';

export function readBridges({ cache }: Pick<OvsdbClient, 'cache'>): LocalBridges {
  const ports = cache.table('Port').rows;
  const [root] = cache.table('Open_vSwitch').rows.values();
  const bridges = [...cache.table('Bridge').rows.values()].map((row) => {
    const uuids = Array.isArray(row['ports']) ? (row['ports'] as readonly string[]) : [];
    const mtu = Number(externalIdOf(row, routedKey));
    const bridge = {
      ...(Number.isInteger(mtu) && mtu > 0 ? { routedMtu: mtu } : {}),
      ports: uuids.flatMap((uuid) => (ports.get(uuid)?.['name'] as string | undefined) ?? []),
      owner: ownerIdOf(row),
      vendor: externalIdOf(row, externalId.vendor),
      move: externalIdOf(row, moveKey),
    };
    return [row['name'] as string, bridge] as const;
  });
  const setting = (key: string): string => (root && externalIdOf(root, key)) ?? '';
  return {
    bridges: new Map(bridges),
    mappings: setting(mappingsKey),
    ownMappings: setting(ownMappingsKey),
    routerMacs: setting(routerMacsKey),
    ownRouterMacs: setting(ownRouterMacsKey),
  };
}

/** `works`, or the error of ovs-vswitchd for a port; undefined if ovs-vswitchd has not handled it yet. */
export function portState({ cache }: Pick<OvsdbClient, 'cache'>, name: string): string | undefined {
  const [row] = cache.table('Interface').byIndex(['name'], [name]);
  if (row === undefined) return undefined;
  return interfaceError(row) ?? (isNumbered(row) ? 'works' : undefined);
}

function isNumbered(row: Row): boolean {
  return typeof row['ofport'] === 'number' && row['ofport'] > 0;
}

/** Resolves with `works`, or with the error of Open vSwitch. @throws the signal's reason */
export function untilPort(client: OvsdbClient, name: string, signal: AbortSignal): Promise<string> {
  return waitUntil([(check) => client.subscribe(check)], () => portState(client, name), signal);
}
