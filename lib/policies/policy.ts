/** Policies of Kubernetes, as all rooms see them: NetworkPolicies, and those of the whole cluster. */
import type { LabelSelector } from '../api/kinds/shared.ts';

/** A protocol by its name in match expressions. */
export type PolicyProtocol = 'tcp' | 'udp' | 'sctp';

/** A port of a container that has a name. */
export interface NamedPort {
  readonly name: string;
  readonly protocol: PolicyProtocol;
  readonly number: number;
}

/** Ports of one protocol; all of them without a port. */
export interface PolicyPort {
  readonly protocol: PolicyProtocol;
  /** A number, or the name of a port of the destination pod. */
  readonly port?: number | string;
  /** The last port of a range that begins with a number. */
  readonly endPort?: number;
}

/** Pods that a rule names. */
export interface PodPeer {
  /** Namespaces by their labels; undefined for the namespace of the policy alone. */
  readonly namespaces: LabelSelector | undefined;
  readonly pods: LabelSelector;
}

/** Addresses that a rule names, as written. */
export interface BlockPeer {
  readonly cidr: string;
  readonly except: readonly string[];
}

export interface RulePeers {
  readonly pods: readonly PodPeer[];
  readonly blocks: readonly BlockPeer[];
  /** Domain names as `parseDomainName` or `parseDomainPattern` returns them; absent without any. Destinations are the addresses that the DNS of pods has for them. */
  readonly domains?: readonly string[];
}

export interface PolicyRule {
  /** Undefined for all sources or destinations, also those outside of the cluster. */
  readonly peers: RulePeers | undefined;
  /** Undefined for all ports of all protocols. */
  readonly ports: readonly PolicyPort[] | undefined;
}

/** What a policy selects and allows. */
export interface PolicyRules {
  readonly namespace: string;
  readonly pods: LabelSelector;
  /** Rules of the directions in which it isolates pods; undefined for a direction in which it has no effect. */
  readonly ingress: readonly PolicyRule[] | undefined;
  readonly egress: readonly PolicyRule[] | undefined;
  /** Providers of the interfaces to which it applies; undefined for all. */
  readonly providers: readonly string[] | undefined;
}

export type ClusterTier = 'Admin' | 'Baseline';

/** `Pass` skips the other rules of the tier. */
export type ClusterAction = 'Accept' | 'Deny' | 'Pass';

export interface ClusterRule extends PolicyRule {
  readonly name: string;
  readonly action: ClusterAction;
  readonly peers: RulePeers;
  /** Nodes whose addresses the rule names beside its peers, by their labels. */
  readonly nodes: readonly LabelSelector[];
  /** What of the rule is not in force, or makes it stricter than it is written: `to[0].domainNames …`. */
  readonly flaw: string | undefined;
}

/** What a ClusterNetworkPolicy, an AdminNetworkPolicy or a BaselineAdminNetworkPolicy decides. */
export interface ClusterRules {
  readonly tier: ClusterTier;
  /** The lowest number comes first. */
  readonly priority: number;
  /** Its pods in all namespaces; undefined if it selects none. */
  readonly subject: PodPeer | undefined;
  /** The first rule that a packet satisfies decides; undefined without rules. */
  readonly ingress: readonly ClusterRule[] | undefined;
  readonly egress: readonly ClusterRule[] | undefined;
}

export type AnyPolicy = PolicyRules | ClusterRules;

export function isClusterPolicy<Cluster extends ClusterRules>(policy: PolicyRules | Cluster): policy is Cluster {
  return 'tier' in policy;
}
