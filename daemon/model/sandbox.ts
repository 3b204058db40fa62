/** One interface of one pod sandbox, from its ADD to its DEL. The external_ids of its OVS interface are the lasting copy. */
export interface Sandbox {
  readonly containerId: string;
  readonly ifname: string;
  /** Name of the network configuration; undefined in records of daemons that did not write it. */
  readonly network: string | undefined;
  /** Prefix of the annotations of the interface. */
  readonly provider: string;
  /** Name of the logical port: the `iface-id`. */
  readonly port: string;
  readonly netns: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly podUid: string;
  /** The end of the veth pair on the node. */
  readonly hostInterface: string;
  readonly mac: string;
  readonly ips: readonly string[];
}
