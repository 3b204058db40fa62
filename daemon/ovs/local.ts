/**
 * The Open_vSwitch database of the node: a mirror of the few columns that the daemon reads and writes, and the chassis name. All writes
 * except the chassis name and the gateway key go through the reconciler of lib/desired.
 */
import { openOvsdb, type OvsdbClient, type Row, type StateListener } from 'ovsdb-client';
import { mapOf } from '../../lib/ovn/columns.ts';
import { externalIdOf } from '../../lib/ovn/owner.ts';
import { parseIp } from '../../lib/net/ip.ts';
import { interconnectKey, asideTable } from '../model/ovs-keys.ts';
import { waitUntil } from '../../lib/run/wait-until.ts';

/** `signal` only ends the attempt to connect, because a daemon that stops still has to undo what it was doing. */
export async function openLocalOvs(remote: string, signal: AbortSignal, onState?: StateListener): Promise<OvsdbClient> {
  const opening = new AbortController();
  const giveUp = (): void => opening.abort(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  const client = await openOvsdb({
    remotes: [remote],
    database: 'Open_vSwitch',
    monitor: {
      Open_vSwitch: ['bridges', 'ssl', 'next_cfg', 'cur_cfg', 'external_ids'],
      SSL: ['private_key', 'certificate', 'ca_cert', 'bootstrap_ca_cert', 'external_ids'],
      Bridge: ['name', 'ports', 'mirrors', 'datapath_type', 'fail_mode', 'other_config', 'external_ids'],
      Port: ['name', 'interfaces', 'qos', 'external_ids'],
      QoS: ['type', 'other_config', 'external_ids'],
      [asideTable]: ['external_ids'],
      Mirror: ['name', 'select_all', 'select_src_port', 'select_dst_port', 'output_port', 'external_ids'],
      Interface: [
        'name',
        'type',
        'mac',
        'mtu_request',
        'error',
        'ofport',
        'options',
        'bfd',
        'bfd_status',
        'external_ids',
      ],
    },
    indexes: { Interface: [['name'], ['ofport']] },
    signal: opening.signal,
    ...(onState && { onState }),
  });
  signal.removeEventListener('abort', giveUp);
  return client;
}

/** Numbers of the requested and of the applied configuration: ovs-vswitchd copies next_cfg to cur_cfg, and ovs-vsctl waits for that as well. */
export function switchConfig({ cache }: Pick<OvsdbClient, 'cache'>): { readonly asked: number; readonly done: number } {
  const [row] = cache.table('Open_vSwitch').rows.values();
  return { asked: Number(row?.['next_cfg'] ?? 0), done: Number(row?.['cur_cfg'] ?? 0) };
}

/**
 * Resolves when ovs-vswitchd has applied everything that is in the database now. If an interface is removed and added again before that,
 * ovs-vswitchd takes it for the same interface and keeps its device. @throws the signal's reason
 */
export async function untilTakenUp(
  client: Pick<OvsdbClient, 'cache' | 'subscribe'>,
  signal: AbortSignal,
): Promise<void> {
  const { asked } = switchConfig(client);
  const isTakenUp = (): true | undefined => (switchConfig(client).done >= asked ? true : undefined);
  await waitUntil([(check) => client.subscribe(check)], isTakenUp, signal);
}

/** The error of Open vSwitch for an interface; undefined if there is none. */
export function interfaceError(row: Row): string | undefined {
  const error = row['error'];
  return typeof error === 'string' && error !== '' ? error : undefined;
}

const tunnelTypes: ReadonlySet<unknown> = new Set(['geneve', 'vxlan', 'stt']);

/** Sorted remote addresses of the tunnels: the other nodes as far as ovn-controller knows them. */
export function tunnelEnds(client: OvsdbClient): readonly string[] {
  const rows = [...client.cache.table('Interface').rows.values()].filter((row) => tunnelTypes.has(row['type']));
  const ends = rows.flatMap((row) => {
    const { remote_ip: end } = row['options'] as Readonly<Record<string, string>>;
    return end !== undefined && parseIp(end) !== undefined ? [end] : [];
  });
  return [...new Set(ends)].toSorted();
}

/** Whether ovn-controller gives tunnels a fixed source address, as it does since OVN 24.03. */
export function hasFixedSources({ cache }: Pick<OvsdbClient, 'cache'>): boolean {
  return cache
    .table('Interface')
    .rows.values()
    .some((row) => tunnelTypes.has(row['type']) && mapOf(row, 'options')['local_ip'] !== undefined);
}

/** Calls `onChange` after each database update that changed the tunnel ends. Returns a function that unsubscribes. */
export function watchTunnelEnds(client: OvsdbClient, onChange: () => void): () => void {
  let known = '';
  return client.subscribe(() => {
    const ends = tunnelEnds(client).join();
    if (ends !== known) onChange();
    known = ends;
  });
}

/** Whether the database has a bridge of this name. */
export function hasBridge({ cache }: Pick<OvsdbClient, 'cache'>, name: string | undefined): boolean {
  return cache
    .table('Bridge')
    .rows.values()
    .some((row) => row['name'] === name);
}

/** Whether ovn-controller has the flows of this interface in place. */
export function isInstalled(client: OvsdbClient, name: string): boolean {
  return client.cache
    .table('Interface')
    .byIndex(['name'], [name])
    .some((row) => externalIdOf(row, 'ovn-installed') === 'true');
}

/** Whether `ovs-vsctl init` has run: the database has the row that holds the configuration of the node. */
export function isInitialised({ cache }: Pick<OvsdbClient, 'cache'>): boolean {
  return cache.table('Open_vSwitch').rows.size > 0;
}

/**
 * The chassis name, `external_ids:system-id`. If the start-up scripts of Open vSwitch have set none, `propose` gives one. It stays for good,
 * because ovn-controller registers the node under it. Waits for a database that is not initialised yet.
 * @throws OvsdbError, the signal's reason
 */
export async function ensureSystemId(
  client: Pick<OvsdbClient, 'cache' | 'subscribe' | 'transact'>,
  propose: () => string,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    await waitUntil([(check) => client.subscribe(check)], () => isInitialised(client) || undefined, signal);
    const current = systemId(client);
    if (current !== undefined) return current;
    const mutations = [['external_ids', 'insert', { 'system-id': propose() }]] as const;
    await client.transact([{ op: 'mutate', table: 'Open_vSwitch', where: [], mutations }]);
  }
}

/** Removes the key that an earlier run set while this node was a gateway between clusters. */
export async function forgetGateway(client: OvsdbClient): Promise<void> {
  const [row] = client.cache.table('Open_vSwitch').rows.values();
  if (row === undefined || externalIdOf(row, interconnectKey) === undefined) return;
  const mutations = [['external_ids', 'delete', [interconnectKey]]] as const;
  await client.transact([{ op: 'mutate', table: 'Open_vSwitch', where: [], mutations }]);
}

/** The remotes of the southbound database that ovn-controller has. */
export function southboundRemotes(client: OvsdbClient): readonly string[] {
  const [row] = client.cache.table('Open_vSwitch').rows.values();
  const value = row === undefined ? undefined : externalIdOf(row, 'ovn-remote');
  return value === undefined ? [] : value.split(',').filter((remote) => remote !== '');
}

/** The current chassis name: an administrator may set another one, and ovn-controller follows. Undefined if there is none. */
export function systemId(client: Pick<OvsdbClient, 'cache'>): string | undefined {
  const [row] = client.cache.table('Open_vSwitch').rows.values();
  const ids = row?.['external_ids'] as Readonly<Record<string, unknown>> | undefined;
  const value = ids?.['system-id'];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
