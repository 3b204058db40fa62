/**
 * What the controller knows of Kubernetes: one immutable value for each object, made by `watch/` and read by
 * everything behind it. Only what plans and statuses need; what a user got wrong is still in here as written,
 * to be judged by `plan/`.
 */
import type { Condition, LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { Cidr } from '../../lib/net/cidr.ts';

export interface ObjectFacts {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly isDeleting: boolean;
}

export interface Pod extends ObjectFacts {
  readonly namespace: string;
  /** Undefined until scheduled. */
  readonly node: string | undefined;
  readonly isHostNetwork: boolean;
  /** Succeeded or Failed: its sandbox is gone for good. */
  readonly isFinished: boolean;
  /** The annotations this room reads or writes. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations that ask for what is not supported. */
  readonly unsupported: readonly string[];
}

export interface Node extends ObjectFacts {
  /** InternalIP addresses as the kubelet reported them. */
  readonly addresses: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Namespace extends ObjectFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface SubnetSpec {
  readonly isDefault: boolean | undefined;
  readonly vpc: string;
  readonly protocol: string;
  readonly provider: string;
  readonly namespaces: readonly string[];
  readonly namespaceSelectors: readonly LabelSelector[];
  readonly cidrBlock: string;
  readonly gateway: string;
  readonly excludeIps: readonly string[];
  readonly gatewayType: string;
}

export interface Subnet extends ObjectFacts {
  readonly generation: number;
  readonly finalizers: readonly string[];
  readonly spec: SubnetSpec;
  /** Fields of the spec that are set and not supported. */
  readonly unsupported: readonly string[];
  /** The definition that was accepted last, as this room noted it on the object. */
  readonly acceptedNote: string | undefined;
  readonly conditions: readonly Condition[];
  /** The rest of the status. */
  readonly status: Readonly<Record<string, unknown>>;
}

export interface Vpc extends ObjectFacts {
  readonly generation: number;
  readonly unsupported: readonly string[];
  readonly conditions: readonly Condition[];
  readonly status: Readonly<Record<string, unknown>>;
}

/** A network between clusters, as the interconnect reports it. */
export interface TransitSwitch {
  readonly name: string;
  readonly cidrs: readonly Cidr[];
}

/** An IP object: who has which address, for people and other tools to see. */
export interface IpObject extends ObjectFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    readonly podName: string;
    readonly namespace: string;
    readonly subnet: string;
    readonly nodeName: string;
    readonly ipAddress: string;
    readonly v4IpAddress: string;
    readonly v6IpAddress: string;
    readonly macAddress: string;
  };
}

/** `namespace/name`, as reflectors key namespaced objects. */
export function podKey(pod: { readonly namespace: string; readonly name: string }): string {
  return `${pod.namespace}/${pod.name}`;
}

/** By age, then name: the order in which objects have a say. */
export function byAge(a: ObjectFacts, b: ObjectFacts): number {
  if (a.createdMs !== b.createdMs) return a.createdMs - b.createdMs;
  return a.name < b.name ? -1 : Number(a.name > b.name);
}
