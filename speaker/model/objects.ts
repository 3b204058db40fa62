// The speaker's view of the cluster: what the routes of this node depend on, and the passwords of its sessions.
import type { TransitNetwork } from '../../lib/bgp/lifelines.ts';
import type { BgpState } from '../../lib/bgp/objects.ts';
import type { NodeNetwork } from '../../lib/netlink/node-network.ts';

/** Texts by key; `missing` where there is no such Secret, `unread` before it was looked for. */
export type PasswordSecret = ReadonlyMap<string, string> | 'missing' | 'unread';

export interface SpeakerState extends BgpState {
  /** By name of the TransitSwitch. */
  readonly transitSwitches: ReadonlyMap<string, Omit<TransitNetwork, 'name'>>;
  /** Host of the hub, by name of the Interconnect. */
  readonly hubs: ReadonlyMap<string, string>;
  /** By name of the ServiceCIDR; none where Kubernetes has no such kind. */
  readonly serviceCidrs: ReadonlyMap<string, readonly string[]>;
  /** All Secrets that this speaker may read, by name. */
  readonly secrets: ReadonlyMap<string, PasswordSecret>;
}

/** What the node itself says of its surroundings. */
export interface NodeFacts {
  readonly network: NodeNetwork;
  /** Where this speaker finds the API server. */
  readonly apiServers: readonly string[];
}
