/** All facts that statuses depend on, after a round. */
import type { Problem } from '../../lib/desired/problem.ts';
import type { LinkState } from '../model/link-state.ts';
import type { GatewayClash } from '../settle/clashes.ts';
import type { Member, Rejection, SilentDatabase, TransitSwitch } from '../model/messages.ts';
import type { Cut } from '../settle/cuts.ts';
import type { LocalView } from '../model/local.ts';
import type { OwnNetwork } from '../model/networks.ts';
import type { EncryptionFacts } from '../settle/encryption.ts';
import type { RemoteView } from '../settle/remotes.ts';
import type { PodsState } from '../apply/pods.ts';
import type { GatewayObject } from '../model/objects.ts';

export interface Situation {
  /** Undefined while this cluster is not a member. */
  readonly local: LocalView | undefined;
  readonly link: LinkState;
  /** The hub has answered to a state of this process; before, nothing is known of other clusters. */
  readonly isHubKnown: boolean;
  readonly members: ReadonlyMap<string, Member>;
  /** Members that the hub expects and has no state of. */
  readonly expected: ReadonlySet<string>;
  readonly switches: readonly TransitSwitch[];
  readonly rejections: readonly Rejection[];
  /** Databases of the hub that do not answer. */
  readonly silentDatabases: readonly SilentDatabase[];
  /** Connected members that report all of their paths to this cluster as down. */
  readonly unreachedBy: ReadonlySet<string> | undefined;
  /** Nodes of gateways with a silent daemon → when it last checked, by its own clock. */
  readonly silent: ReadonlyMap<string, string>;
  /** Nodes of gateways whose ovn-controller does not follow → since when, in Unix milliseconds. */
  readonly behind: ReadonlyMap<string, number>;
  /** Stalled parts of this cluster's OVN, the cause of the rest first. */
  readonly stuck: readonly Problem[];
  /** Gateways of this cluster whose chassis name or tunnel address belongs to another gateway too. */
  readonly clashes: readonly GatewayClash[];
  readonly networks: ReadonlyMap<string, OwnNetwork>;
  /** Of networks, by name. */
  readonly networkProblems: ReadonlyMap<string, Problem>;
  /** `<network>/<path>` → why an anchor that should move does not. */
  readonly blocked: ReadonlyMap<string, string>;
  /** By logical switch: why no gateway would take over this cluster's port. */
  readonly takeovers: ReadonlyMap<string, Problem>;
  readonly remotes: RemoteView;
  /** The gateway object of a chassis of this cluster. */
  readonly gatewayOf: (chassis: string) => GatewayObject | undefined;
  /** Whether a chassis of this cluster lost a port for long and has not come back. */
  readonly isDead: (chassis: string) => boolean;
  /** Gateways of this cluster that do not hear each other. */
  readonly cuts: readonly Cut[];
  /** Undefined or absent if neither this cluster nor another one wants encryption. */
  readonly encryption?: EncryptionFacts | undefined;
  /** IP packet size that must pass between gateways, in bytes. */
  readonly wantedMtu: number;
  /** What policies know of the pods of a cluster; undefined if none names it. */
  readonly podsOf: (cluster: string) => PodsState | undefined;
  /** Round-trip time to a cluster in milliseconds, as imports use it; undefined if it is not known now. */
  readonly distanceOf: (cluster: string) => number | undefined;
  readonly prefixesOffered: number;
  /** Whether the hub and the databases have the newest state. */
  readonly isConverged: boolean;
  /** The databases have the newest state, the hub does not. */
  readonly isWaitingForHub: boolean;
  /** What is wrong with the networks of ClusterSet IPs; undefined before this process knows the exports of other clusters. */
  readonly clusterSetProblems: readonly Problem[] | undefined;
  /** Problems of the targets and of the object's spec. */
  readonly problems: readonly Problem[];
  readonly nowMs: number;
}

export function isoOf({ nowMs }: Pick<Situation, 'nowMs'>): string {
  return new Date(nowMs).toISOString();
}

/** Certain cuts between gateways that are alive. */
export function certainCuts({ cuts, isDead }: Pick<Situation, 'cuts' | 'isDead'>): readonly Cut[] {
  return cuts.filter(({ pair, sinceMs }) => sinceMs !== undefined && !pair.some(isDead));
}

/** Node and chassis of each gateway that can carry traffic. */
export function usableGateways(
  local: LocalView,
): readonly { readonly node: string; readonly chassis: string; readonly address: string }[] {
  return local.gatewayNodes.flatMap(({ node, chassis }) => {
    const known = local.chassis.get(chassis);
    const address = known?.gateway.encaps[0]?.ip;
    return known?.isInterconnect === true && address !== undefined ? [{ node, chassis, address }] : [];
  });
}
