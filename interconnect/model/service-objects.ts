/** Objects of Services that clusters export to each other, as `watch/` reads them. Immutable values. */
import type { Condition, LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { Service } from '../../lib/services/service.ts';
import type { ExportedEndpoint, ExportedPort } from './exported-service.ts';

/** On the ServiceImports of the agent; all others belong to other programs. */
export const importsOfAgent = { 'app.kubernetes.io/managed-by': 'isthmus-interconnect' } as const;

/** `endpointslice.kubernetes.io/managed-by` of the agent's EndpointSlices. */
export const slicesOfAgent = 'isthmus.network';

export const sliceLabel = {
  managedBy: 'endpointslice.kubernetes.io/managed-by',
  service: 'multicluster.kubernetes.io/service-name',
  cluster: 'multicluster.kubernetes.io/source-cluster',
} as const;

/** Of an exported Service: every endpoint of another cluster takes all of them. */
export const mostPorts = 100;

export interface ServiceExportObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly isDeleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly conditions: readonly Condition[];
  /** There is no such object: an annotation of the Service says what it would. */
  readonly isAlias: boolean;
  /** False: clients of this cluster have its endpoints, other clusters do not. */
  readonly isShared: boolean;
}

/** Which endpoints of an import clients of this cluster get first. `nearest`: of this cluster, then of the others by their distance. */
export type Affinity = 'local' | 'remote' | 'nearest' | 'none';

/** A Service with its annotations for other clusters: those of Cilium's cluster mesh, and that of Isthmus. */
export interface GlobalService {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly isDeleting: boolean;
  /** Undefined without the annotation. */
  readonly isGlobal: boolean | undefined;
  readonly isShared: boolean;
  /** By Cilium's annotation. */
  readonly affinity: Exclude<Affinity, 'nearest'>;
  /** By the annotation of Isthmus, which counts in its place; undefined without it. */
  readonly preference: Affinity | undefined;
  /** What is wrong with the annotation of Isthmus. */
  readonly preferenceMistake: string | undefined;
  /** What is wrong with the annotations of Cilium; empty if nothing is. */
  readonly mistakes: readonly string[];
}

/** A Service in a namespace that has ServiceExports. */
export interface LocalService {
  readonly service: Service;
  readonly isHeadless: boolean;
  readonly ports: readonly ExportedPort[];
  /** Empty without one. */
  readonly trafficDistribution: string;
}

/** An EndpointSlice of such a Service. */
export interface LocalSlice {
  /** `namespace/name` of its Service. */
  readonly service: string;
  readonly endpoints: readonly ExportedEndpoint[];
}

export interface ServiceImportObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  readonly isDeleting: boolean;
  /** Whether the agent made it. */
  readonly isOurs: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

/** An EndpointSlice of the agent: the fields that it writes. */
export interface ImportedSlice {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Name of its ServiceImport. */
  readonly service: string;
  readonly body: SliceBody;
}

/** `namespace/name`. */
export function importOfSlice({ namespace, service }: ImportedSlice): string {
  return `${namespace}/${service}`;
}

export interface SliceBody {
  readonly addressType: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Uid of the ServiceImport that owns it. */
  readonly owner: string;
  readonly ports: readonly Readonly<Record<string, unknown>>[];
  readonly endpoints: readonly Readonly<Record<string, unknown>>[];
}

/** A LoadBalancerPool. */
export interface SharedPool {
  readonly name: string;
  /** Whether clusters share it, and the controller of this one has accepted it. */
  readonly isOffered: boolean;
  /** CIDRs, addresses and ranges. */
  readonly ranges: readonly string[];
  /** All when empty. */
  readonly clusters: readonly string[];
  readonly serviceSelector: LabelSelector;
  readonly namespaceSelector: LabelSelector;
}

/** The addresses that a Service of this cluster has in all clusters, as the agent wrote them. */
export interface SharedAddressObject {
  readonly name: string;
  readonly uid: string;
  /** `namespace/name` of the Service. */
  readonly service: string;
  readonly pool: string;
  /** Canonical. */
  readonly addresses: readonly string[];
  /** Of the agreement, milliseconds since 1970; 0 without one. */
  readonly sinceMs: number;
  /** All of its spec, as JSON. */
  readonly specText: string;
}

/** The name of the SharedAddress of a Service: a namespace has no dot. */
export function sharedAddressName(service: string): string {
  return service.replace('/', '.');
}

/** `namespace/name`. */
export function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
