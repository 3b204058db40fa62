/** Services and EndpointSlices as all rooms see them: immutable values that `parse.ts` makes of raw objects. */
import type { Condition } from '../api/kinds/shared.ts';
import type { Family } from '../net/ip.ts';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export interface ServicePort {
  /** Empty where a Service has one port without a name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** Zero where the port has none. */
  readonly nodePort: number;
}

/** An entry of `status.loadBalancer.ingress`. Fields that are empty are absent. */
export interface Ingress {
  readonly ip?: string;
  readonly hostname?: string;
  readonly ipMode?: string;
}

export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since 1970. */
  readonly createdMs: number;
  /** Whether it has virtual addresses that Isthmus serves: false for a headless Service, an ExternalName, and one of another proxy. */
  readonly isServed: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string;
  /** Canonical; empty for a headless Service. */
  readonly clusterIps: readonly string[];
  /** Families of its addresses, in the order of preference. */
  readonly ipFamilies: readonly Family[];
  /** It has two families where the cluster has, and one otherwise. */
  readonly prefersDualStack: boolean;
  readonly externalIps: readonly string[];
  /** Addresses of `status.loadBalancer` whose `ipMode` is not `Proxy`. */
  readonly loadBalancerIps: readonly string[];
  /** `status.loadBalancer.ingress` as it is. */
  readonly ingress: readonly Ingress[];
  /** CIDRs in canonical text; undefined where every client may use the load balancer's addresses. */
  readonly loadBalancerSourceRanges: readonly string[] | undefined;
  readonly loadBalancerClass: string | undefined;
  /** The address that `spec.loadBalancerIP` requests, as written; empty where it requests none. */
  readonly loadBalancerIp: string;
  readonly ports: readonly ServicePort[];
  readonly isExternalPolicyLocal: boolean;
  readonly isInternalPolicyLocal: boolean;
  /** Zero where the Service has none. */
  readonly healthCheckNodePort: number;
  /** How long a client keeps its endpoint; undefined without session affinity. */
  readonly affinitySeconds: number | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** Of its status, those of other programs among them. */
  readonly conditions: readonly Condition[];
  /** The part of the spec that the SwitchLBRule of the Service determines; undefined for a Service without one. */
  readonly ruleSpec: RuleSpec | undefined;
}

/** Written to the Service of a SwitchLBRule. */
export interface RuleSpec {
  readonly selector: Readonly<Record<string, string | null>>;
  readonly ports: readonly {
    readonly name?: string;
    readonly protocol: string;
    readonly port: number;
    readonly targetPort: number;
  }[];
  readonly sessionAffinity: string;
}

/** A port of an EndpointSlice. */
export interface SlicePort {
  /** That of the Service's port; empty for a Service with one port without a name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface Endpoint {
  /** Canonical. */
  readonly address: string;
  /** Empty where unknown. */
  readonly node: string;
  /** It is ready, and Services send it connections. */
  readonly isReady: boolean;
  /** It answers, and does not take new connections unless no endpoint is ready. */
  readonly isServingWhileTerminating: boolean;
  /** Nodes and zones that should use it; empty without hints. */
  readonly nodeHints: readonly string[];
  readonly zoneHints: readonly string[];
  /** `namespace/name` of its pod; undefined for other endpoints. */
  readonly pod: string | undefined;
}

export interface EndpointSlice {
  /** `namespace/name` of its Service; empty where it has none. */
  readonly service: string;
  readonly family: Family;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
}

export function serviceKey(service: { readonly namespace: string; readonly name: string }): string {
  return `${service.namespace}/${service.name}`;
}

/** Whether routers and clients outside of the cluster reach it. */
export function isExternal({ type, externalIps }: Service): boolean {
  return type === 'NodePort' || type === 'LoadBalancer' || externalIps.length > 0;
}

/** Pairs of an external IP and a port that one Service may have: a single one could otherwise use up the memory of every program that serves it. */
export const mostExternalPairs = 10_000;

/** Its external IPs; none where these and its ports are too many. */
export function servedExternalIps({ externalIps, ports }: Pick<Service, 'externalIps' | 'ports'>): readonly string[] {
  return externalIps.length * ports.length > mostExternalPairs ? [] : externalIps;
}
