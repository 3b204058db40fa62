/**
 * One cluster as the commands see it: immutable values read once. Made by `watch/`, judged by `plan/`. A part that could
 * not be read is absent, and `unreadable` says why, so that silence is never taken for health.
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
  /** Also the object's name. */
  readonly node: string;
  readonly isDrained: boolean;
  /** When its daemon last measured something; undefined while it has not. */
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
  /** Of its slices. */
  readonly prefixes: readonly RemoteRoute[];
}

export interface HubMember {
  /** What the cluster is called now. */
  readonly name: string;
  readonly allowedPrefixes: readonly string[];
  readonly maxPrefixes: number;
  readonly status: HubMemberStatus;
}

export interface Subnet {
  readonly name: string;
  readonly vpc: string;
  /** As wished for, unparsed. */
  readonly wished: string;
  /** In force; empty while the subnet is not. */
  readonly cidrs: readonly Cidr[];
  readonly isDisabled: boolean;
  /** The subnet that joins nodes and pods, which no other cluster is told of. */
  readonly isJoin: boolean;
  /** Reached through a physical network and not through OVN. */
  readonly isUnderlay: boolean;
  /** Who reaches it besides itself and the nodes; undefined where it is not private. */
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
  /** Name of its chassis, as its daemon wrote it. */
  readonly chassis: string | undefined;
  readonly addresses: readonly string[];
  readonly conditions: readonly Condition[];
}

export interface Lease {
  readonly holder: string;
  readonly renewedMs: number;
  readonly durationMs: number;
  /** Whether it was seen to be renewed, where it looked old (or of the future) by this machine's clock. */
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
  /** Why a container of it does not run; empty where all do. */
  readonly reason: string;
}

/** Something of the cluster that could not be read. */
export interface Unreadable extends Problem {
  /** A kind by its plural: `leases`, `transitswitches`. */
  readonly what: string;
}

export interface Snapshot {
  /** The cluster's name among the members, or where it was read from while it has none. */
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
  /** Of all nodes with a speaker. */
  readonly learned: readonly LearnedPrefix[];
  readonly lease: Lease | undefined;
  readonly identity: Identity | Problem | undefined;
  readonly token: TokenClaims | Problem | undefined;
  /** SHA-256 of the authority of the hub in this cluster; undefined where there is no hub. */
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

/** Whether objects of a kind, by its plural, may be there unseen. */
export function isHidden(snapshot: Snapshot, plural: string): boolean {
  return snapshot.unreadable.some(({ what }) => what === plural);
}

/** The spec, where there is one that can be used. */
export function specOf(snapshot: Snapshot): InterconnectSpec | undefined {
  const spec = snapshot.interconnect?.spec;
  return spec === undefined || isProblem(spec) ? undefined : spec;
}

/** Conditions of the membership that are False, in the order given. */
export function falseCondition(snapshot: Snapshot, type: string): Condition | undefined {
  const condition = conditionOf(snapshot.interconnect?.status.conditions, type);
  return condition?.status === 'False' ? condition : undefined;
}
