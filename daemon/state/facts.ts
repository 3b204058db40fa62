/**
 * What the daemon knows, as immutable values: made by watch/ from Kubernetes objects and by plan/sandbox.ts from the
 * local OVS database; read by plan/ and cni/. Addresses in here are checked, whatever a user wrote.
 */

export interface InterfaceAddress {
  readonly ip: string;
  /** Length of the subnet's prefix. */
  readonly prefix: number;
  /** Absent on networks without one. */
  readonly gateway: string | undefined;
}

/** An interface the controller gave addresses to. */
export interface Attachable {
  readonly mac: string;
  /** At most one per family, IPv4 first. */
  readonly addresses: readonly InterfaceAddress[];
  /** The subnet's networks: `10.16.0.0/16`. */
  readonly networks: readonly string[];
  readonly subnet: string;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Undefined until the controller has allocated; a sentence where the annotations make no sense. */
  readonly network: Attachable | string | undefined;
}

export interface SubnetFacts {
  readonly name: string;
  readonly networks: readonly string[];
  readonly isNatOutgoing: boolean;
  readonly mtu: number | undefined;
}

export interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  /** Of ovn0; as for pods. */
  readonly network: Attachable | string | undefined;
  readonly internalIps: readonly string[];
  /** Whether traffic to other clusters may pass here. */
  readonly isInterconnectGateway: boolean;
  /** The chassis annotation as it is. */
  readonly chassis: string | undefined;
  readonly unavailable: NodeCondition | undefined;
}

/** The node's NetworkUnavailable condition. */
export interface NodeCondition {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/** One interface of one pod sandbox, from its ADD to its DEL. Kept in the external_ids of its OVS interface. */
export interface Sandbox {
  readonly containerId: string;
  readonly ifname: string;
  readonly netns: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly podUid: string;
  /** The veth end on the node. */
  readonly hostInterface: string;
  readonly mac: string;
  readonly ips: readonly string[];
}
