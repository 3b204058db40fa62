/** Names in the local Open_vSwitch database that plan/ writes and ovs/ reads back. */

/** external_ids of Open_vSwitch, on gateways between clusters only. */
export const interconnectKey = 'ovn-is-interconn';
/**
 * Table of the records of sandboxes whose interface is being restored. A row of this table stands by itself and means nothing
 * to any switch; ovn-controller, which recomputes everything when settings of the node change, does not read it.
 */
export const asideTable = 'Queue';
/** external_ids of a provider network's bridge: the move of its interface, as JSON. */
export const moveKey = 'isthmus-nic-move';
/** external_ids of the bridge of a network that nodes route to: its MTU in bytes. */
export const routedKey = 'isthmus-routed-mtu';
/** external_ids of Open_vSwitch: OVN's own key, and its entries that the daemon wrote. */
export const mappingsKey = 'ovn-bridge-mappings';
export const ownMappingsKey = 'isthmus-bridge-mappings';
export const routerMacsKey = 'ovn-chassis-mac-mappings';
export const ownRouterMacsKey = 'isthmus-chassis-mac-mappings';
