// The speaker's view of the cluster: the objects that the routes of this node depend on, and the passwords of its
// sessions.
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

/** Values by key; `missing` if the Secret does not exist, `unread` before it was read. */
export type PasswordSecret = ReadonlyMap<string, string> | 'missing' | 'unread';

/** The parsed value of each kind that the speaker watches. */
export interface WatchedObjects {
  readonly nodes: Node;
  readonly namespaces: Labels;
  readonly instances: BgpInstance;
  readonly peers: BgpPeer;
  readonly advertisements: BgpAdvertisement;
  readonly subnets: Subnet;
  /** Networks of a pool in force. */
  readonly loadBalancerPools: readonly string[];
  readonly pods: Pod;
  readonly services: Service;
  readonly slices: EndpointSlice;
  /** EIPs of both kinds; the key is `kind/name`. */
  readonly eips: Eip;
  readonly policies: RoutePolicy;
  readonly remotes: Remote;
  readonly transitSwitches: Omit<TransitNetwork, 'name'>;
  /** The host of the hub of each Interconnect. */
  readonly hubs: string;
  readonly serviceCidrs: readonly string[];
  readonly secrets: PasswordSecret;
  readonly nodeStates: OwnState;
  /** The slices of this node. */
  readonly routeSlices: Slice<BgpRoute>;
}

/** The BgpNodeState of this node. */
export interface OwnState {
  readonly uid: string;
  readonly status: BgpNodeStateStatus;
  /** The routes of its status, which are used if there are no slices. */
  readonly sample: readonly BgpRoute[];
}

export type ObjectKind = keyof WatchedObjects;

export interface SpeakerState extends BgpState {
  /** Networks by name of the TransitSwitch. */
  readonly transitSwitches: ReadonlyMap<string, Omit<TransitNetwork, 'name'>>;
  /** Host of the hub, by name of the Interconnect. */
  readonly hubs: ReadonlyMap<string, string>;
  /** Ranges by name of the ServiceCIDR; empty if Kubernetes does not have that kind. */
  readonly serviceCidrs: ReadonlyMap<string, readonly string[]>;
  /** All Secrets that this speaker may read, by name. */
  readonly secrets: ReadonlyMap<string, PasswordSecret>;
}

/** Facts that the node reports about its own network. */
export interface NodeFacts {
  readonly network: NodeNetwork;
  /** Addresses at which this speaker reaches the API server. */
  readonly apiServers: readonly string[];
}
