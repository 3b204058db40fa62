// The speaker's view of the cluster: what the routes of this node depend on, and the passwords of its sessions.
import type { TransitNetwork } from '../../lib/bgp/lifelines.ts';
import type { BgpNodeStateStatus } from '../../lib/api/kinds/bgp-node-state.ts';
import type { BgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import type {
  BgpAdvertisement,
  BgpInstance,
  BgpPeer,
  BgpState,
  Eip,
  EndpointSlice,
  Labels,
  Node,
  Pod,
  Remote,
  Service,
  Subnet,
} from '../../lib/bgp/objects.ts';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';
import type { NodeNetwork } from '../../lib/netlink/node-network.ts';
import type { Slice } from '../../lib/slices/slice.ts';

/** Texts by key; `missing` where there is no such Secret, `unread` before it was looked for. */
export type PasswordSecret = ReadonlyMap<string, string> | 'missing' | 'unread';

/** What each kind that the speaker watches is parsed into. */
export interface WatchedObjects {
  readonly nodes: Node;
  readonly namespaces: Labels;
  readonly instances: BgpInstance;
  readonly peers: BgpPeer;
  readonly advertisements: BgpAdvertisement;
  readonly subnets: Subnet;
  readonly pods: Pod;
  readonly services: Service;
  readonly slices: EndpointSlice;
  /** Of both kinds; the key is `kind/name`. */
  readonly eips: Eip;
  readonly policies: RoutePolicy;
  readonly remotes: Remote;
  readonly transitSwitches: Omit<TransitNetwork, 'name'>;
  /** The host of its hub, for each Interconnect. */
  readonly hubs: string;
  readonly serviceCidrs: readonly string[];
  readonly secrets: PasswordSecret;
  readonly nodeStates: OwnState;
  /** Of this node. */
  readonly routeSlices: Slice<BgpRoute>;
}

/** The BgpNodeState of this node. */
export interface OwnState {
  readonly uid: string;
  readonly status: BgpNodeStateStatus;
  /** What its status has for lack of slices. */
  readonly sample: readonly BgpRoute[];
}

export type ObjectKind = keyof WatchedObjects;

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
