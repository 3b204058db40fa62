/** Records of networks and members: exactly what the IC databases can give back after a restart. */
import type { EncryptionWish, Gateway, HeldPort, Member, Prefix } from '../../model/messages.ts';

export const clusterName = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;

/** A network between clusters, as it was defined. */
export interface NetworkDefinition {
  readonly name: string;
  /** Normalised, one per IP family. */
  readonly cidrs: readonly string[];
  /**
   * The member that may change it. Empty: the hub, or, where the network is not the hub's own, the next member that
   * defines it.
   */
  readonly definedBy: string;
  /** Members that may take part, sorted; all when empty. */
  readonly clusters: readonly string[];
  /** How many paths it is to have, 1 to 8. */
  readonly paths: number;
}

/** One path of a network: a logical switch. */
export interface NetworkPath {
  readonly network: string;
  readonly index: number;
  /** Name of the logical switch. */
  readonly switch: string;
  readonly cidrs: readonly string[];
  readonly tunnelKey: number;
  /** The network is to have fewer paths: this one is removed once all members have received the update. */
  readonly retiring: boolean;
}

export interface Network extends NetworkDefinition {
  /** The paths there are, by index. */
  readonly switches: readonly NetworkPath[];
}

/** A member's port on one path: allocated once, kept for as long as the cluster takes part. */
export type AllocatedPort = HeldPort;

export interface PortRecord extends AllocatedPort {
  readonly index: number;
  /** Chassis that may hold it, first the anchor. */
  readonly gateways: readonly string[];
  readonly holder: string;
  readonly draining: boolean;
}

/** A member's part in one network. */
export interface AttachmentRecord {
  readonly network: string;
  readonly vpc: string;
  readonly routerId: string;
  /** Sorted by CIDR, which is normalised. */
  readonly prefixes: readonly Prefix[];
  /** By index of the path. */
  readonly ports: readonly PortRecord[];
}

export interface MemberRecord {
  readonly name: string;
  /** The name it first joined with, which its ports keep through every rename. */
  readonly handle: string;
  /** Sorted by chassis. */
  readonly gateways: readonly Gateway[];
  /** Sorted by network. */
  readonly attachments: readonly AttachmentRecord[];
  /** Absent if it has not said any. */
  readonly encryption?: EncryptionWish;
}

/** Whether a member has a session, as others are shown it. */
export interface Presence {
  readonly connected: boolean;
  /** Unix milliseconds. */
  readonly lastSeenMs: number;
  /** Its agent is of a release that sends no pods. */
  readonly lacksPods?: boolean;
}

/** An availability zone that runs plain ovn-ic: shown to members, never written. */
export type ForeignMember = Member & { readonly foreign: true };

export function logicalPortOf(pathSwitch: string, handle: string): string {
  return `${pathSwitch}-${handle}`;
}

/** Whether it is offered to all members of the network, including zones with plain ovn-ic. */
export function isPublic({ only, except }: Pick<Prefix, 'only' | 'except'>): boolean {
  return only.length === 0 && except.length === 0;
}

/** A datapath of a transit switch in IC-SB. */
export interface FoundDatapath {
  readonly tunnelKey: number;
  readonly isForeign: boolean;
}
