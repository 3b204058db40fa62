/**
 * A cluster in which Isthmus may be installed, as immutable values read once. Created by `watch/`, judged by `plan/check`. A list that could not be
 * read is undefined, and `unreadable` has the reason.
 */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { InspectedNode } from './node-inspection.ts';
import type { Unreadable } from './snapshot.ts';

export interface Machine {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** InternalIPs, in the order of the Node: the first is the tunnel address. */
  readonly addresses: readonly string[];
  /** Ranges allocated by kube-controller-manager, which Isthmus does not use. */
  readonly podCidrs: readonly string[];
  /** Undefined if kubelet does not report it. */
  readonly maxPods: number | undefined;
  readonly kubelet: string;
  readonly kernel: string;
  /** Such as `containerd://1.7.2`. */
  readonly runtime: string;
  readonly os: string;
  readonly architecture: string;
  readonly conditions: readonly Condition[];
}

export interface HostPort {
  readonly protocol: string;
  readonly port: number;
}

/** A pod with host ports. */
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
  /** Value of --encap-type of a container, as of isthmus-daemon. */
  readonly encapType?: string;
}

export interface Definition {
  /** Such as `subnets.kubeovn.io`. */
  readonly name: string;
  readonly group: string;
  /** Whether it has the label app.kubernetes.io/part-of=isthmus, or helm recorded our release. */
  readonly isOurs: boolean;
  /** Release recorded by helm, `namespace/name`. */
  readonly release: string | undefined;
}

export interface StorageClass {
  readonly name: string;
  readonly isDefault: boolean;
}

export interface ServiceRanges {
  readonly cidrs: readonly string[];
  /** Whether the ranges come from ServiceCIDR objects; otherwise they are not known. */
  readonly isKnown: boolean;
}

export interface ClusterFacts {
  /** Name of the context. */
  readonly label: string;
  readonly namespace: string;
  /** Such as `v1.34.4`. */
  readonly version: string;
  readonly machines: readonly Machine[] | undefined;
  readonly portHolders: readonly PortHolder[] | undefined;
  readonly controllers: readonly Controller[] | undefined;
  readonly definitions: readonly Definition[] | undefined;
  readonly storageClasses: readonly StorageClass[] | undefined;
  readonly serviceRanges: ServiceRanges | undefined;
  /** Services as `namespace/name` with their addresses. */
  readonly serviceAddresses: readonly { readonly service: string; readonly address: string }[] | undefined;
  /** Addresses of the API servers, from the Service `kubernetes`. */
  readonly serverAddresses: readonly string[] | undefined;
  /** Whether admissionregistration.k8s.io/v1 has ValidatingAdmissionPolicies; undefined if that is not known. */
  readonly hasAdmissionPolicies: boolean | undefined;
  /** Inspected nodes; undefined if no inspection was requested. */
  readonly looks: readonly InspectedNode[] | undefined;
  readonly unreadable: readonly Unreadable[];
}
