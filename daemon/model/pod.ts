/** Pods on this node, as watch/ parses them. */
import type { PodCondition } from '../../lib/api/pod-addresses.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { InterfaceNetwork, Route } from './address.ts';

/** The annotations of one interface of a pod, written by the controller and by the user. */
export interface InterfaceAnnotations {
  /** Prefix of the annotations: `ovn`, `<attachment>.<namespace>.ovn`, or `<attachment>.<namespace>.ovn.<interface>`. */
  readonly provider: string;
  /** Undefined until the controller has allocated addresses and vouches for them; a sentence if the annotations make no sense. */
  readonly network: InterfaceNetwork | string | undefined;
  /** Whether the user wants the default route of the pod here; undefined if the user did not say. */
  readonly hasDefaultRoute: boolean | undefined;
  /** Further routes, or the problem that makes them unreadable. */
  readonly routes: readonly Route[] | Problem;
  /** Delay, loss and queue length for packets to the pod, in the form of Open vSwitch's `linux-netem`; empty for none. */
  readonly netem: Readonly<Record<string, string>>;
  readonly isMirrored: boolean;
}

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Only for static pods: the uid that the kubelet and the runtime use. The mirror pod in the API server has a uid of its own. */
  readonly staticUid: string | undefined;
  /** First part of the names of the pod's ports: the pod itself, or the virtual machine that runs in it. */
  readonly portOwner: string;
  /** By provider. */
  readonly interfaces: ReadonlyMap<string, InterfaceAnnotations>;
  /** The controller's condition: it vouches for the addresses, or says why there are none. */
  readonly addressCondition: PodCondition | undefined;
  /** Annotations that this node cannot follow and ignores. */
  readonly problems: readonly Problem[];
}
