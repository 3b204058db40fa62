/** The move of an interface → rows of the local Open_vSwitch database. Pure. */
import { externalId, providerBridge, vendor } from '../../../lib/api/names.ts';
import type { Desired } from '../../../lib/desired/row.ts';
import type { LocalBridges, NicMove } from '../../state/underlay.ts';
import { portRows } from '../port-rows.ts';
import { foreignMappings } from './decide.ts';
import { formatMove } from './move.ts';

export const underlayFeature = 'underlay';
export const mappingsOwner = 'underlay/mappings';
/** external_ids of the bridge: what was moved, as JSON. */
export const moveKey = 'isthmus-nic-move';
/** external_ids of Open_vSwitch: OVN's own key, and the entries in it that are ours. */
export const mappingsKey = 'ovn-bridge-mappings';
export const ownMappingsKey = 'isthmus-bridge-mappings';

/** Owner of a network's rows, without the room. */
export function networkOwner(network: string): string {
  return `${underlayFeature}/pn/${network}`;
}

/** The bridge with its local port; with `hasNic` the interface is in it. */
export function planBridgeRows(move: NicMove, datapathType: 'system' | 'netdev', hasNic: boolean): Desired {
  const bridge = providerBridge(move.network);
  return {
    rows: [
      {
        table: 'Bridge',
        key: bridge,
        parent: { table: 'Open_vSwitch', key: '.', column: 'bridges' },
        columns: {
          datapath_type: datapathType,
          // Without it the bridge would take the address of whichever port has the lowest.
          other_config: { hwaddr: move.mac },
          external_ids: { [externalId.vendor]: vendor, [moveKey]: formatMove(move) },
        },
        shared: ['other_config', 'external_ids'],
      },
      ...portRows(bridge, { type: 'internal', mtu_request: move.mtu }, {}, {}, bridge),
      ...(hasNic ? portRows(move.nic, {}, {}, {}, bridge) : []),
    ],
  };
}

/** `ovn-bridge-mappings` is one string for everybody: entries of others stay as they are. */
export function planMappings(networks: readonly string[], ovs: LocalBridges): Desired {
  const own = networks.toSorted().map((network) => `${network}:${providerBridge(network)}`);
  const foreign = foreignMappings(ovs).filter((entry) => !own.includes(entry));
  const all = [...foreign, ...own];
  const entries = {
    [mappingsKey]: all.length === 0 ? null : all.join(','),
    [ownMappingsKey]: own.length === 0 ? null : own.join(','),
  };
  return { rows: [], contributions: [{ table: 'Open_vSwitch', key: '.', column: 'external_ids', entries }] };
}
