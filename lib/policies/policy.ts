/** NetworkPolicies of Kubernetes, as all rooms see them. */
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

export interface PolicyRule {
  /** Undefined for all sources or destinations, also those outside of the cluster. */
  readonly peers: { readonly pods: readonly PodPeer[]; readonly blocks: readonly BlockPeer[] } | undefined;
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
