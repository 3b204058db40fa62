/**
 * A Service that one cluster exports to the others by a ServiceExport, as the clusters send it to each other through the hub.
 * Immutable plain data. Source: KEP-1645 (Multi-Cluster Services API).
 */
import type { Family } from '../../lib/net/ip.ts';
import type { Protocol } from '../../lib/services/service.ts';

export interface ExportedPort {
  /** Empty for the only port of a Service, which needs no name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** Empty without one. */
  readonly appProtocol: string;
}

/** A port of an endpoint: the number that `name`, a port of the Service, has at this endpoint. */
export interface EndpointPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface ExportedEndpoint {
  /** Canonical. */
  readonly address: string;
  /** Of a pod with a stable name; empty for others. */
  readonly hostname: string;
  /** Empty if unknown. */
  readonly zone: string;
  /** Empty if unknown. */
  readonly node: string;
  readonly isReady: boolean;
  /** Whether it terminates but still serves. */
  readonly isServingWhileTerminating: boolean;
  readonly ports: readonly EndpointPort[];
}

export interface ExportedService {
  readonly namespace: string;
  readonly name: string;
  /** Creation of the ServiceExport, milliseconds since 1970: the oldest export decides conflicts, then the name of the cluster. */
  readonly createdMs: number;
  readonly type: 'ClusterSetIP' | 'Headless';
  readonly ports: readonly ExportedPort[];
  /** How long a client keeps its endpoint, in seconds; 0 without session affinity. */
  readonly affinitySeconds: number;
  readonly isInternalPolicyLocal: boolean;
  /** Empty without one. */
  readonly trafficDistribution: string;
  readonly ipFamilies: readonly Family[];
  /** `spec.exportedLabels` and `spec.exportedAnnotations` of the ServiceExport. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly endpoints: readonly ExportedEndpoint[];
  /** Null or absent without a claim, as the wire has it, and in exports of other clusters. */
  readonly shared?: SharedClaim | null;
}

/** What a cluster asks for a Service of type LoadBalancer: the addresses that it has in all clusters. */
export interface SharedClaim {
  /** LoadBalancerPool of the cluster. */
  readonly pool: string;
  /** CIDRs, addresses and ranges `lowest..highest` that the addresses may be from. */
  readonly ranges: readonly string[];
  /** Clusters that the pool is shared with; all when empty. */
  readonly clusters: readonly string[];
  /** Addresses that the Service requests, one of each family at most. */
  readonly requested: readonly string[];
  /** Addresses that it has by an earlier agreement. */
  readonly held: readonly string[];
  /** Of that agreement, milliseconds since 1970; 0 without one. */
  readonly sinceMs: number;
}

/** `namespace/name` → the export, of one cluster. */
export type ExportedServices = ReadonlyMap<string, ExportedService>;
