/** The messages of `proto/hub/v1/hub.proto` as this code holds them: immutable plain data, camelCase names. */

export interface Encap {
  readonly type: string;
  readonly ip: string;
  readonly options: Readonly<Record<string, string>>;
}

export interface Gateway {
  readonly chassis: string;
  readonly hostname: string;
  readonly encaps: readonly Encap[];
  /** Absent or null (as the wire has it): it takes no part in encryption. */
  readonly wireGuard?: WireGuard | null;
}

/** A gateway's end of encrypted tunnels. */
export interface WireGuard {
  /** Base64 of 32 bytes. */
  readonly publicKey: string;
  /** `address:port`, the best first. */
  readonly endpoints: readonly string[];
  /** Within the tunnels, allocated by the hub; empty before. */
  readonly address: string;
  /** The key that is to replace `publicKey`; absent or empty outside of a rotation. */
  readonly nextKey?: string;
}

/** A next key of a gateway of another member. */
export interface AcceptedKey {
  readonly cluster: string;
  readonly publicKey: string;
}

/** Members whose gateways all accept a next key of the receiver. */
export interface KeyAcceptance {
  readonly publicKey: string;
  /** Sorted. */
  readonly clusters: readonly string[];
}

export type EncryptionMode = 'off' | 'preferred' | 'required';

/** Wishes of a member for its tunnels to others. */
export interface EncryptionWish {
  readonly mode: EncryptionMode;
  /** Cluster → mode, in place of `mode`. */
  readonly clusters: Readonly<Record<string, EncryptionMode>>;
}

/** A prefix that a member offers on one transit switch. */
export interface Prefix {
  readonly cidr: string;
  /** connected, static, bgp or aggregate. */
  readonly origin: string;
  readonly tags: readonly string[];
  /** Clusters it came through, in order; the offering member is not among them. */
  readonly via: readonly string[];
  /** Members that may know of it; all when empty. */
  readonly only: readonly string[];
  readonly except: readonly string[];
}

/** The state of a member's end of one path. */
export interface PathEnd {
  readonly index: number;
  /** Chassis that may hold the port, in their order; the first is the anchor. */
  readonly gateways: readonly string[];
  /** Chassis that forwards for the port now; empty while none does. */
  readonly holder: string;
  /** Its traffic is to leave this path: the anchor is about to move. */
  readonly draining: boolean;
}

/** A port that a member holds, sent so that a hub that lost it can restore it. */
export interface HeldPort {
  /** Logical switch of the path. */
  readonly switch: string;
  readonly mac: string;
  readonly networks: readonly string[];
  readonly tunnelKey: number;
}

/** A member's part in one transit switch. */
export interface Attachment {
  readonly transitSwitch: string;
  readonly vpc: string;
  readonly routerId: string;
  readonly prefixes: readonly Prefix[];
  readonly ends: readonly PathEnd[];
  readonly held: readonly HeldPort[];
  /** Requests; empty, 0, empty: as the hub has it. */
  readonly cidrs: readonly string[];
  readonly paths: number;
  readonly clusters: readonly string[];
}

export interface MemberState {
  readonly revision: number;
  readonly gateways: readonly Gateway[];
  readonly attachments: readonly Attachment[];
  /** Other members to which every path of this one is down. */
  readonly unreachable: readonly string[];
  /** False of a member of a release before exports. */
  readonly tellsExports: boolean;
  /** False of a member of a release before `PathReport`. */
  readonly tellsPaths: boolean;
  /** False or absent of a member of a release before policies across clusters. */
  readonly tellsPods?: boolean;
  /** Absent or null: a member of a release before encryption. */
  readonly encryption?: EncryptionWish | null;
  /** Next keys of others that all gateways of this member accept. */
  readonly acceptedKeys?: readonly AcceptedKey[];
}

/** All paths of a member to one other cluster. */
export interface PathSummary {
  readonly cluster: string;
  readonly paths: number;
  readonly up: number;
  /** Of the worst path: a state of `RemotePathStatus`. */
  readonly state: string;
  /** Why it is not up: a code; empty if it is. */
  readonly reason: string;
  /** Unix milliseconds of the newest change; 0 if none is known. */
  readonly sinceMs: number;
  /** Of the tunnels to it: `off`, `encrypted`, or a code that says why they are not; absent or empty: not said. */
  readonly encryption?: string;
}

/** How the paths of a member stand. Shown at the hub; nothing is decided by it. */
export interface PathReport {
  /** Release of its agent. */
  readonly version: string;
  /** Other clusters that it has paths to, and those of them to which all paths are up. */
  readonly clusters: number;
  readonly clustersUp: number;
  /** At most `mostListedPaths`, those with a path that is not up first. */
  readonly listed: readonly PathSummary[];
}

export const mostListedPaths = 64;

export interface Port {
  /** Logical switch of the path. */
  readonly switch: string;
  readonly logicalPort: string;
  readonly mac: string;
  readonly networks: readonly string[];
  readonly tunnelKey: number;
  readonly gateways: readonly string[];
  readonly holder: string;
  readonly draining: boolean;
}

export interface Path {
  readonly index: number;
  readonly switch: string;
  readonly cidrs: readonly string[];
  readonly tunnelKey: number;
  /** It will be removed soon: traffic is to leave it now. */
  readonly retiring: boolean;
  /** The receiving member's own; null while it takes no part (as the wire has it). */
  readonly port: Port | null;
}

export interface TransitSwitch {
  readonly name: string;
  readonly cidrs: readonly string[];
  /** Member that defined it; empty for the hub. */
  readonly definedBy: string;
  readonly clusters: readonly string[];
  readonly paths: readonly Path[];
}

export interface NextHop {
  readonly switch: string;
  readonly address: string;
}

export interface Route {
  readonly transitSwitch: string;
  readonly prefix: string;
  readonly origin: string;
  readonly tags: readonly string[];
  /** Clusters it came through, the offering member last. */
  readonly via: readonly string[];
  readonly nextHops: readonly NextHop[];
}

export interface Member {
  readonly name: string;
  readonly foreign: boolean;
  readonly connected: boolean;
  /** Unix milliseconds; 0 while connected and for foreign members. */
  readonly lastSeenMs: number;
  readonly gateways: readonly Gateway[];
  readonly ports: readonly Port[];
  readonly routes: readonly Route[];
  /** Its agent is of a release that sends no pods. */
  readonly lacksPods?: boolean;
  /** Its wish for tunnels to the receiver; absent or empty: it has said nothing. */
  readonly encryption?: EncryptionMode | '';
}

export interface Rejection {
  readonly kind: 'gateway' | 'key' | 'prefix' | 'transit-switch' | 'member' | 'export' | 'pods';
  readonly value: string;
  readonly code: string;
  readonly message: string;
  readonly holder: string;
  /** Empty if it is about none. */
  readonly transitSwitch: string;
}

/** A database of the hub that does not answer. */
export interface SilentDatabase {
  /** As its schema calls it: `OVN_IC_Southbound`. */
  readonly name: string;
  /** Unix milliseconds: when the first question went out that it has not answered. */
  readonly sinceMs: number;
}

export interface HubUpdate {
  readonly revision: number;
  readonly full: boolean;
  readonly transitSwitches: readonly TransitSwitch[];
  readonly members: readonly Member[];
  readonly removed: readonly string[];
  readonly rejections: readonly Rejection[];
  /** Members whose state the hub does not know yet: members keep what they know of them. */
  readonly expected: readonly string[];
  /** Complete each time; while there are any, nothing new can be sent. */
  readonly silentDatabases: readonly SilentDatabase[];
  /** Connected members that report all of their paths to the receiver as down. Each update has all of them. */
  readonly unreachedBy: readonly string[];
  /** False of a hub of a release before `unreachedBy`. */
  readonly tellsUnreached: boolean;
  /** False of a hub of a release before exports. */
  readonly carriesExports: boolean;
  /** False of a hub of a release before sets of pods. */
  readonly carriesPods: boolean;
  /** False of a hub of a release before `PathReport`. */
  readonly takesPaths: boolean;
  /** Network of the addresses within encrypted tunnels; absent or empty of a hub of a release before encryption. */
  readonly tunnelCidr?: string;
  /** Chassis of the receiver's gateways → address within the tunnels. */
  readonly tunnelAddresses?: Readonly<Record<string, string>>;
  /** One for each next key of the receiver's gateways that were announced to others. */
  readonly keyAcceptances?: readonly KeyAcceptance[];
}

export interface JoinRequest {
  readonly token: string;
  /** PEM, PKCS #10. */
  readonly certificateRequest: string;
  /** Of its gateways: they distinguish a member that is to be renamed from a copy of it. */
  readonly chassis: readonly string[];
}

/** A certificate and the hub's CA, both PEM. */
export interface IssuedIdentity {
  readonly certificate: string;
  readonly ca: string;
}
