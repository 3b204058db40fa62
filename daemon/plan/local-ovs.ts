/**
 * Node and settings → the rows of the local Open_vSwitch database that make this node a chassis: the integration bridge, the settings of
 * ovn-controller, the node's own port ovn0 and the mirror. Pure. Each has an owner of its own, so that the database can refuse one without
 * affecting the others.
 */
import { integrationBridge, nodeInterface, nodePortName, vendor } from '../../lib/api/names.ts';
import type { Desired } from '../../lib/desired/row.ts';
import type { Node } from '../model/node.ts';
import { planMirror, type MirrorSettings } from './mirror.ts';
import { portRows } from './port-rows.ts';
import { interconnectKey } from '../model/ovs-keys.ts';

export interface ChassisSettings extends MirrorSettings {
  readonly nodeName: string;
  readonly encapType: string;
  readonly encapIp: string;
  readonly datapathType: 'system' | 'netdev';
  readonly mtu: number;
}

/** How ovn-controller reaches the southbound database. */
export interface Southbound {
  /** Value of `ovn-remote`; empty if there are no servers yet. */
  readonly remotes: readonly string[];
  /** Paths of files as ovn-controller sees them; undefined if it has others, or needs none. */
  readonly tls: { readonly key: string; readonly cert: string; readonly ca: string } | undefined;
}

/** Owner (without the room) → its wanted rows; undefined if it wants none. */
export type DesiredByOwner = ReadonlyMap<string, Desired | undefined>;

export const mirrorOwner = 'node/mirror';
export const nodePortOwner = 'node/ovn0';
/** `isGateway`: whether the node is a gateway between clusters. */
export function planLocalOvs(
  settings: ChassisSettings,
  southbound: Southbound,
  node: Node | undefined,
  isGateway: boolean,
): DesiredByOwner {
  return new Map([
    ['node/bridge', planBridge(settings)],
    ['node/chassis', planChassis(settings, southbound.remotes, isGateway)],
    ['node/tls', planTls(southbound)],
    [nodePortOwner, planNodePort(settings, node)],
    [mirrorOwner, planMirror(settings)],
  ]);
}

function planBridge({ datapathType }: ChassisSettings): Desired {
  return {
    rows: [
      {
        table: 'Bridge',
        key: integrationBridge,
        parent: { table: 'Open_vSwitch', key: '.', column: 'bridges' },
        columns: {
          datapath_type: datapathType,
          fail_mode: 'secure',
          other_config: { 'disable-in-band': 'true' },
          external_ids: { vendor },
        },
        shared: ['other_config', 'external_ids'],
      },
      // The local port of the bridge, as `ovs-vsctl add-br` makes it.
      ...portRows(integrationBridge, { type: 'internal' }, {}),
    ],
  };
}

/**
 * Time for which a starting ovn-controller leaves the flows of its predecessor in place. By default it deletes them before it has
 * computed its own, so that each restart is a short outage of the node.
 */
const flowsKeptMs = '2000';

function planChassis(settings: ChassisSettings, southbound: readonly string[], isGateway: boolean): Desired {
  const entries = {
    hostname: settings.nodeName,
    'ovn-bridge': integrationBridge,
    'ovn-bridge-datapath-type': settings.datapathType,
    ...(southbound.length > 0 ? { 'ovn-remote': southbound.join(',') } : {}),
    'ovn-encap-type': settings.encapType,
    'ovn-encap-ip': settings.encapIp,
    // Without this key, ovn-controller makes no tunnels to chassis of other clusters.
    ...(isGateway ? { [interconnectKey]: 'true' } : {}),
    'ovn-ofctrl-wait-before-clear': flowsKeptMs,
  };
  return { rows: [], contributions: [{ table: 'Open_vSwitch', key: '.', column: 'external_ids', entries }] };
}

function planTls({ tls }: Southbound): Desired | undefined {
  if (tls === undefined) return undefined;
  const columns = { private_key: tls.key, certificate: tls.cert, ca_cert: tls.ca, bootstrap_ca_cert: false };
  const parent = { table: 'Open_vSwitch', key: '.', column: 'ssl' };
  return { rows: [{ table: 'SSL', key: 'chassis', parent, columns }] };
}

/** For a node that is released: removes the settings of ovn-controller. The chassis name stays, because it belongs to the node. */
export function planLeft(): Desired {
  const keys = [
    'hostname',
    'ovn-bridge',
    'ovn-bridge-datapath-type',
    'ovn-remote',
    'ovn-encap-type',
    'ovn-encap-ip',
    interconnectKey,
    'ovn-ofctrl-wait-before-clear',
  ];
  const entries = Object.fromEntries(keys.map((key) => [key, null]));
  return { rows: [], contributions: [{ table: 'Open_vSwitch', key: '.', column: 'external_ids', entries }] };
}

function planNodePort({ nodeName, mtu }: ChassisSettings, node: Node | undefined): Desired | undefined {
  const network = node?.network;
  if (network === undefined || typeof network === 'string') return undefined;
  const ids = {
    'iface-id': nodePortName(nodeName),
    attached_mac: network.mac,
    ip_addresses: network.addresses.map(({ ip }) => ip).join(','),
  };
  return { rows: portRows(nodeInterface, { type: 'internal', mac: network.mac, mtu_request: mtu }, ids) };
}
