/** The ports by which the integration bridge reaches the bridges of provider networks, in the local Open_vSwitch database. */
import type { OvsdbClient } from 'ovsdb-client';
import { integrationBridge } from '../../lib/api/names.ts';
import { integerOf, mapOf, textOf } from '../../lib/ovn/columns.ts';

/** As ovn-controller names them. */
const prefix = `patch-${integrationBridge}-to-`;

/** The OpenFlow port of each, by OVN's port of type localnet. */
export function localnetPorts({ cache }: Pick<OvsdbClient, 'cache'>): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const row of cache.table('Interface').rows.values()) {
    const [name, port] = [textOf(row, 'name'), integerOf(row, 'ofport')];
    if (row['type'] === 'patch' && name.startsWith(prefix) && port > 0) found.set(name.slice(prefix.length), port);
  }
  return found;
}

/** Whether this node watches others by BFD, which it does if it may take over from one of them, or depends on them. */
export function hasWatchedTunnels({ cache }: Pick<OvsdbClient, 'cache'>): boolean {
  return cache
    .table('Interface')
    .rows.values()
    .some((row) => mapOf(row, 'bfd')['enable'] === 'true');
}

/** The tunnels on which BFD is up, by name. */
export function liveTunnels({ cache }: Pick<OvsdbClient, 'cache'>): ReadonlySet<string> {
  const rows = [...cache.table('Interface').rows.values()];
  return new Set(rows.filter((row) => mapOf(row, 'bfd_status')['state'] === 'up').map((row) => textOf(row, 'name')));
}
