/** The objects that decide how a client reaches a Service, as `watch/service.ts` reads them. */
import type { EndpointSlice, Service } from '../../lib/services/service.ts';

/** A pod as a client, or behind an endpoint. */
export interface ServicePod {
  /** `namespace/name`. */
  readonly key: string;
  /** Empty until it is scheduled. */
  readonly node: string;
  readonly isHostNetwork: boolean;
  /** The VPC and the Subnet that its annotations report; empty until the controller gave it an address. */
  readonly vpc: string;
  readonly subnet: string;
  readonly addresses: readonly string[];
}

export interface ServiceNode {
  readonly name: string;
  /** Empty if it has none. */
  readonly zone: string;
  readonly addresses: readonly string[];
}

export interface ServiceSubnet {
  readonly vpc: string;
  /** Whether its switch has the load balancers of the VPC, if switches have any. */
  readonly hasLoadBalancers: boolean;
}

/** Settings from the arguments of the installed programs; undefined if the workload was not found. */
export interface ServiceSettings {
  /** Whether OVN has load balancers at all. */
  readonly balancesInOvn: boolean | undefined;
  /** Whether the daemon serves Services on its node; otherwise kube-proxy does. */
  readonly nodesServe: boolean | undefined;
  readonly allowsExternalIps: boolean | undefined;
}

export type ServiceClient =
  | { readonly kind: 'pod'; readonly pod: ServicePod }
  | { readonly kind: 'node'; readonly node: ServiceNode };

export interface ServiceReading {
  readonly service: Service;
  /** Of the Service. */
  readonly slices: readonly EndpointSlice[];
  /** Pods of the namespace, by `namespace/name`. */
  readonly pods: ReadonlyMap<string, ServicePod>;
  readonly nodes: ReadonlyMap<string, ServiceNode>;
  readonly subnets: ReadonlyMap<string, ServiceSubnet>;
  readonly settings: ServiceSettings;
  /** Undefined: clients anywhere in the cluster. */
  readonly client: ServiceClient | undefined;
}
