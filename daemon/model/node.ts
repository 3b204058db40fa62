/** The Node object of this node. */
import type { InterfaceNetwork } from './address.ts';

/** Type of the condition that reports whether the network of a node works. */
export const networkUnavailable = 'NetworkUnavailable';

export interface Node {
  readonly name: string;
  readonly uid: string;
  /** Addresses of ovn0, as `InterfaceAnnotations.network` has those of a pod. */
  readonly network: InterfaceNetwork | string | undefined;
  readonly internalIps: readonly string[];
  /** Further addresses of ovn0, with which clients of Services are masqueraded; canonical, at most one per family. */
  readonly serviceAddresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations about provider networks. */
  readonly networkNotes: Readonly<Record<string, string>>;
  /** The chassis annotation, as it is. */
  readonly chassis: string | undefined;
  /** The annotation with the report of a dry run of Services, as it is. */
  readonly servicesDryRun: string | undefined;
  /** Uid of the DaemonSet whose daemon must release the node; undefined if that was not requested. */
  readonly leave: string | undefined;
  readonly unavailable: NodeCondition | undefined;
  /** Whether the Node is being deleted, or will be by the cluster autoscaler. Clients outside should no longer connect to it. */
  readonly isToBeDeleted: boolean;
}

/** The condition NetworkUnavailable of the node. */
export interface NodeCondition {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}
