/** The move of an interface → rows of the local Open_vSwitch database. Pure. */
import { externalId, providerBridge, vendor } from '../../../lib/api/names.ts';
import type { Desired, DesiredRow } from '../../../lib/desired/row.ts';
import type { LocalBridges, NicMove } from '../../model/provider-network.ts';
import { portRows } from '../port-rows.ts';
import { hash48 } from '../../model/hash48.ts';
import { foreignEntries, foreignMappings } from '../../settle/provider-network.ts';
import { formatMove } from './move.ts';
import {
  mappingsKey,
  moveKey,
  ownMappingsKey,
  ownRouterMacsKey,
  routedKey,
  routerMacsKey,
} from '../../model/ovs-keys.ts';

export const underlayFeature = 'underlay';
export const mappingsOwner = 'underlay/mappings';
/** Owner of a network's rows, without the room. */
export function networkOwner(network: string): string {
  return `${underlayFeature}/pn/${network}`;
}

function bridgeRow(
  bridge: string,
  datapathType: 'system' | 'netdev',
  mac: string,
  record: Readonly<Record<string, string>>,
): DesiredRow {
  return {
    table: 'Bridge',
    key: bridge,
    parent: { table: 'Open_vSwitch', key: '.', column: 'bridges' },
    columns: {
      datapath_type: datapathType,
      // Without hwaddr, the bridge would take the lowest MAC address of its ports.
      other_config: { hwaddr: mac },
      external_ids: { [externalId.vendor]: vendor, ...record },
    },
    shared: ['other_config', 'external_ids'],
  };
}

/** The bridge with its local port and, with `hasNic`, the interface. */
export function planBridgeRows(move: NicMove, datapathType: 'system' | 'netdev', hasNic: boolean): Desired {
  const bridge = providerBridge(move.network);
  return {
    rows: [
      bridgeRow(bridge, datapathType, move.mac, { [moveKey]: formatMove(move) }),
      ...portRows(bridge, { type: 'internal', mtu_request: move.mtu }, {}, {}, bridge),
      ...(hasNic ? portRows(move.nic, {}, {}, {}, bridge) : []),
    ],
  };
}

/** The bridge of a network that the node routes to, with its local port. It has one MAC address on all nodes, so that routers need not learn another one when they move. */
export function planRoutedBridge(network: string, datapathType: 'system' | 'netdev', mtu: number): Desired {
  const bridge = providerBridge(network);
  return {
    rows: [
      bridgeRow(bridge, datapathType, localMac(`routed/${network}`), { [routedKey]: String(mtu) }),
      ...portRows(bridge, { type: 'internal', mtu_request: mtu }, {}, {}, bridge),
    ],
  };
}

/**
 * OVN's settings for the networks that this node has joined: their bridges, and the source MAC address of packets that a logical router sends
 * from this node. All nodes send packets of the same router; with one common address, a physical switch would see it move from port to
 * port. Each setting is one string that we share with others, whose entries stay as they are.
 */
export function planMappings(networks: readonly string[], node: string, ovs: LocalBridges): Desired {
  const sorted = networks.toSorted();
  const entries = {
    ...shared(
      [mappingsKey, ownMappingsKey],
      sorted.map((network) => `${network}:${providerBridge(network)}`),
      foreignMappings(ovs),
    ),
    ...shared(
      [routerMacsKey, ownRouterMacsKey],
      sorted.map((network) => `${network}:${routerMac(node, network)}`),
      foreignEntries(ovs.routerMacs, ovs.ownRouterMacs),
    ),
  };
  return { rows: [], contributions: [{ table: 'Open_vSwitch', key: '.', column: 'external_ids', entries }] };
}

function shared(
  [key, ownKey]: readonly [string, string],
  own: readonly string[],
  foreign: readonly string[],
): Readonly<Record<string, string | null>> {
  const all = [...foreign.filter((entry) => !own.includes(entry)), ...own];
  const text = (entries: readonly string[]): string | null => (entries.length === 0 ? null : entries.join(','));
  return { [key]: text(all), [ownKey]: text(own) };
}

function routerMac(node: string, network: string): string {
  return localMac(`${node}/${network}`);
}

/** Locally administered, and the same at every start. */
function localMac(of: string): string {
  const rest = hash48(of).slice(2).match(/../g) ?? [];
  return ['02', ...rest].join(':');
}
