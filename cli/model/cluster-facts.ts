/**
 * A cluster in which Isthmus may be installed, as immutable values read once. Made by `watch/`, judged by `plan/check`. A list that could
 * not be read is undefined, and `unreadable` says why.
 */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { InspectedNode } from './node-inspection.ts';
import type { Unreadable } from './snapshot.ts';

export interface Machine {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** InternalIPs, in the order of the Node: the first is the tunnel's. */
  readonly addresses: readonly string[];
  /** What kube-controller-manager gave it, which nothing of ours uses. */
  readonly podCidrs: readonly string[];
  /** Undefined where kubelet does not say. */
  readonly maxPods: number | undefined;
  readonly kubelet: string;
  readonly kernel: string;
  /** `containerd://1.7.2`. */
  readonly runtime: string;
  readonly os: string;
  readonly architecture: string;
  readonly conditions: readonly Condition[];
}

export interface HostPort {
  readonly protocol: string;
  readonly port: number;
}

/** A pod with ports of its node. */
export interface PortHolder {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly isOurs: boolean;
  readonly ports: readonly HostPort[];
}

/** A DaemonSet or a Deployment. */
export interface Controller {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly images: readonly string[];
  readonly isOurs: boolean;
  /** Label app.kubernetes.io/version. */
  readonly version: string | undefined;
}

export interface Definition {
  /** `subnets.kubeovn.io`. */
  readonly name: string;
  readonly group: string;
  /** Label app.kubernetes.io/part-of=isthmus, or the release that helm noted. */
  readonly isOurs: boolean;
  /** Release that helm noted, `namespace/name`. */
  readonly release: string | undefined;
}

export interface StorageClass {
  readonly name: string;
  readonly isDefault: boolean;
}

export interface ServiceRanges {
  readonly cidrs: readonly string[];
  /** Of ServiceCIDR objects; otherwise the ranges are not known. */
  readonly isKnown: boolean;
}

export interface ClusterFacts {
  /** Name of the context. */
  readonly label: string;
  readonly namespace: string;
  /** `v1.34.4`. */
  readonly version: string;
  readonly machines: readonly Machine[] | undefined;
  readonly portHolders: readonly PortHolder[] | undefined;
  readonly controllers: readonly Controller[] | undefined;
  readonly definitions: readonly Definition[] | undefined;
  readonly storageClasses: readonly StorageClass[] | undefined;
  readonly serviceRanges: ServiceRanges | undefined;
  /** Of Services: `namespace/name` and address. */
  readonly serviceAddresses: readonly { readonly service: string; readonly address: string }[] | undefined;
  /** Where the API servers are, as the Service `kubernetes` has them. */
  readonly serverAddresses: readonly string[] | undefined;
  /** Whether admissionregistration.k8s.io/v1 has ValidatingAdmissionPolicies; undefined where that is not known. */
  readonly hasAdmissionPolicies: boolean | undefined;
  /** Of the nodes that were looked at; undefined where none was to be. */
  readonly looks: readonly InspectedNode[] | undefined;
  readonly unreadable: readonly Unreadable[];
}
