/**
 * One cluster as the commands see it: immutable values read once. Created by `watch/`, judged by `plan/`. A part that
 * could not be read is absent, and `unreadable` has the reason, so that missing data is never taken for a healthy
 * state.
 */
import type { TokenClaims } from '../../lib/pki/join-token.ts';
import type { HubMemberStatus } from '../../lib/api/kinds/hub-member.ts';
import type { InterconnectGatewayStatus } from '../../lib/api/kinds/interconnect-gateway.ts';
import type { InterconnectSpec, InterconnectStatus } from '../../lib/api/kinds/interconnect.ts';
import type { RemoteClusterStatus } from '../../lib/api/kinds/remote-cluster.ts';
import type { RemoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { TransitSwitchSpec, TransitSwitchStatus } from '../../lib/api/kinds/transit-switch.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { RoutePolicy } from '../../lib/route-policy/policy.ts';
import type { HubProbe } from './hub-probe.ts';
import type { OvnFacts } from './ovn-facts.ts';

export interface Interconnect {
  readonly spec: InterconnectSpec | Problem;
  readonly status: InterconnectStatus;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
}

export interface Gateway {
  /** Name of the node and of the object. */
  readonly node: string;
  readonly isDrained: boolean;
  /** Time of the daemon's last measurement; undefined if there is none. */
  readonly measuredMs: number | undefined;
  readonly status: InterconnectGatewayStatus;
}

export interface TransitSwitch {
  readonly name: string;
  readonly spec: TransitSwitchSpec;
  readonly status: TransitSwitchStatus;
}

export interface RemoteCluster {
  readonly name: string;
  readonly status: RemoteClusterStatus;
  /** Prefixes from its slices. */
  readonly prefixes: readonly RemoteRoute[];
}

export interface HubMember {
  /** The cluster's present name. */
  readonly name: string;
  readonly allowedPrefixes: readonly string[];
  readonly maxPrefixes: number;
  readonly status: HubMemberStatus;
}

export interface Subnet {
  readonly name: string;
  readonly vpc: string;
  /** The requested CIDR, unparsed. */
  readonly wished: string;
  /** The CIDRs in force; empty while the subnet is not. */
  readonly cidrs: readonly Cidr[];
  readonly isDisabled: boolean;
  /** The subnet between nodes and pods, which is not offered to other clusters. */
  readonly isJoin: boolean;
  /** Whether the subnet is on a physical network and not in OVN. */
  readonly isUnderlay: boolean;
  /** Networks with access besides the subnet itself and the nodes; undefined if the subnet is not private. */
  readonly allowed: readonly Cidr[] | undefined;
  readonly conditions: readonly Condition[];
}

/** A prefix that a node learned from a router and that is a route of a VPC. */
export interface LearnedPrefix {
  readonly node: string;
  readonly vpc: string;
  readonly cidr: Cidr;
  readonly peer: string;
  readonly tags: readonly string[];
}

export interface Node {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Name of its chassis, as written by its daemon. */
  readonly chassis: string | undefined;
  readonly addresses: readonly string[];
  readonly conditions: readonly Condition[];
}

export interface Lease {
  readonly holder: string;
  readonly renewedMs: number;
  readonly durationMs: number;
  /** Whether the Lease was observed to be renewed, if its time appeared old (or in the future) by this machine's clock. */
  readonly movement: 'not watched' | 'moving' | 'still';
}

/** This cluster's certificate as a member. */
export interface Identity {
  readonly cluster: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** SHA-256 of the hub's authority that the member trusts. */
  readonly authority: string;
}

/** A pod of Isthmus. */
export interface Workload {
  readonly component: 'isthmus-interconnect' | 'isthmus-hub' | 'isthmus-daemon';
  readonly pod: string;
  readonly node: string;
  readonly isReady: boolean;
  /** The reason why a container is not running; empty if all are. */
  readonly reason: string;
}

/** A part of the cluster that could not be read. */
export interface Unreadable extends Problem {
  /** A kind by its plural: `leases`, `transitswitches`. */
  readonly what: string;
}

export interface Snapshot {
  /** The cluster's name among the members, or its context if it has none. */
  readonly label: string;
  readonly nowMs: number;
  readonly namespace: string;
  readonly interconnect: Interconnect | undefined;
  readonly remotes: readonly RemoteCluster[];
  readonly transitSwitches: readonly TransitSwitch[];
  readonly gateways: readonly Gateway[];
  readonly policies: readonly RoutePolicy[];
  readonly members: readonly HubMember[];
  readonly subnets: readonly Subnet[];
  readonly vpcs: readonly string[];
  readonly nodes: readonly Node[];
  /** Learned prefixes of all nodes with a speaker. */
  readonly learned: readonly LearnedPrefix[];
  readonly lease: Lease | undefined;
  readonly identity: Identity | Problem | undefined;
  readonly token: TokenClaims | Problem | undefined;
  /** SHA-256 of the authority of the hub in this cluster; undefined if there is no hub. */
  readonly authority: string | undefined;
  readonly workloads: readonly Workload[];
  readonly unreadable: readonly Unreadable[];
  readonly probe: HubProbe | undefined;
  readonly ovn: OvnFacts | undefined;
}

export function isProblem(value: object): value is Problem {
  return 'code' in value && 'message' in value;
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether objects of a kind, given by its plural, may exist without being readable. */
export function isHidden(snapshot: Snapshot, plural: string): boolean {
  return snapshot.unreadable.some(({ what }) => what === plural);
}

/** The spec, if there is a valid one. */
export function specOf(snapshot: Snapshot): InterconnectSpec | undefined {
  const spec = snapshot.interconnect?.spec;
  return spec === undefined || isProblem(spec) ? undefined : spec;
}

/** The membership's condition of this type, if it is False. */
export function falseCondition(snapshot: Snapshot, type: string): Condition | undefined {
  const condition = conditionOf(snapshot.interconnect?.status.conditions, type);
  return condition?.status === 'False' ? condition : undefined;
}
