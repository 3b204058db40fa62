/** The exported and imported Services of one cluster, as its objects have them. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { Unreadable } from './snapshot.ts';

export interface ExportReading {
  readonly namespace: string;
  readonly name: string;
  readonly conditions: readonly Condition[];
}

export interface ImportReading extends ExportReading {
  /** ClusterSetIP or Headless. */
  readonly type: string;
  readonly ips: readonly string[];
  readonly ports: readonly string[];
  /** Clusters that export it, by its status. */
  readonly clusters: readonly string[];
  /** The agent of this cluster made it. */
  readonly isOurs: boolean;
}

/** Endpoints of one cluster for one import. */
export interface ImportedEndpoints {
  readonly namespace: string;
  readonly service: string;
  readonly cluster: string;
  readonly ready: number;
  readonly all: number;
}

export interface ReachedCluster {
  readonly name: string;
  readonly phase: string;
  readonly pathsUp: string;
}

/** The DNS of the cluster, where it is CoreDNS in its usual place. */
export interface DnsReading {
  /** Undefined if there is no ConfigMap kube-system/coredns. */
  readonly corefile: string | undefined;
  /** Images of the Deployment kube-system/coredns. */
  readonly images: readonly string[];
}

export interface SharedServices {
  readonly label: string;
  /** Undefined if this cluster is no member. */
  readonly cluster: string | undefined;
  readonly isConnected: boolean;
  readonly namespaces: readonly string[];
  readonly exports: readonly ExportReading[];
  readonly imports: readonly ImportReading[];
  readonly endpoints: readonly ImportedEndpoints[];
  readonly remotes: readonly ReachedCluster[];
  readonly dns: DnsReading;
  /** The kinds of the Multi-Cluster Services API are served. */
  readonly isServed: boolean;
  readonly unreadable: readonly Unreadable[];
}
