/** Services and EndpointSlices as immutable values, for all rooms; `parse.ts` parses raw objects to them. */
import type { Condition } from '../api/kinds/shared.ts';
import { type Family, familyOf } from '../net/ip.ts';

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export interface ServicePort {
  /** Empty for the only port of a Service, which needs no name. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** Zero if the port has none. */
  readonly nodePort: number;
}

/** An entry of `status.loadBalancer.ingress`, without empty fields. */
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
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  /** Whether Isthmus serves its virtual addresses: false for a headless Service, an ExternalName, and a Service of another proxy. */
  readonly isServed: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string;
  /** Canonical; empty for a headless Service. */
  readonly clusterIps: readonly string[];
  /** Families of its addresses, in the order of preference. */
  readonly ipFamilies: readonly Family[];
  /** Whether `ipFamilyPolicy` is PreferDualStack: two families if the cluster has them, otherwise one. */
  readonly prefersDualStack: boolean;
  readonly externalIps: readonly string[];
  /** Addresses of `status.loadBalancer` whose `ipMode` is not `Proxy`. */
  readonly loadBalancerIps: readonly string[];
  /** `status.loadBalancer.ingress` as it is. */
  readonly ingress: readonly Ingress[];
  /** CIDRs in canonical text, of both families; undefined without any. `sourceRangesOf` has those that apply to an address. */
  readonly loadBalancerSourceRanges: readonly string[] | undefined;
  readonly loadBalancerClass: string | undefined;
  /** `spec.loadBalancerIP`, as written; empty if absent. */
  readonly loadBalancerIp: string;
  readonly ports: readonly ServicePort[];
  readonly isExternalPolicyLocal: boolean;
  readonly isInternalPolicyLocal: boolean;
  /** Zero if the Service has none. */
  readonly healthCheckNodePort: number;
  /** How long a client keeps its endpoint; undefined without session affinity. */
  readonly affinitySeconds: number | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** The conditions of its status, including those of other programs. */
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
  /** Name of the Service's port; empty if that has none. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

export interface Endpoint {
  /** Canonical. */
  readonly address: string;
  /** Empty if unknown. */
  readonly node: string;
  /** Whether it is ready, so that Services send it connections. */
  readonly isReady: boolean;
  /** Whether it terminates but still serves: it gets new connections only if no endpoint is ready. */
  readonly isServingWhileTerminating: boolean;
  /** Nodes and zones that should use it; empty without hints. */
  readonly nodeHints: readonly string[];
  readonly zoneHints: readonly string[];
  /** `namespace/name` of its pod; undefined for other endpoints. */
  readonly pod: string | undefined;
}

export interface EndpointSlice {
  /** `namespace/name` of its Service; empty if it has none. */
  readonly service: string;
  readonly family: Family;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly Endpoint[];
}

export function serviceKey(service: { readonly namespace: string; readonly name: string }): string {
  return `${service.namespace}/${service.name}`;
}

/** Whether it has addresses or ports for clients outside of the cluster. */
export function isExternal({ type, externalIps }: Service): boolean {
  return type === 'NodePort' || type === 'LoadBalancer' || externalIps.length > 0;
}

/** Whether externalTrafficPolicy Local applies to it: its endpoints see the addresses of clients outside of the cluster. */
export function isExternalLocal(service: Service): boolean {
  return service.isExternalPolicyLocal && isExternal(service);
}

/** Pairs of an external IP and a port that one Service may have: a single one could otherwise use up the memory of every program that serves it. */
export const mostExternalPairs = 10_000;

/** Its external IPs; none where these and its ports are too many. */
export function servedExternalIps({ externalIps, ports }: Pick<Service, 'externalIps' | 'ports'>): readonly string[] {
  return externalIps.length * ports.length > mostExternalPairs ? [] : externalIps;
}

/**
 * CIDRs of the clients that may use the load balancer's addresses of a family; undefined where all may. As for kube-proxy, ranges of one family alone
 * leave the addresses of the other open.
 */
export function sourceRangesOf(
  { loadBalancerSourceRanges: ranges }: Pick<Service, 'loadBalancerSourceRanges'>,
  family: Family,
): readonly string[] | undefined {
  const own = ranges?.filter((range) => familyOf(range) === family);
  // A list of which nothing is readable admits nobody.
  return own?.length === 0 && ranges?.length !== 0 ? undefined : own;
}
