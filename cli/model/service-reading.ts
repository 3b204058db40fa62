/** The objects that decide how a client reaches a Service or a SwitchLBRule, as `watch/service.ts` reads them. */
import type { Condition } from '../../lib/api/kinds/shared.ts';
import type { EndpointSlice, Service } from '../../lib/services/service.ts';
import type { RuleObject } from '../../lib/services/switch-lb-rule.ts';

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

/** A backend in the status of a SwitchLBRule. */
export interface RuleBackend {
  readonly address: string;
  readonly port: number;
  readonly protocol: string;
  /** Undefined where the backend is no pod. */
  readonly pod: string | undefined;
  /** Of its health check: `Online`, `Offline`, `Error`, `Pending`, `Unchecked`. */
  readonly state: string;
  /** Why it is unchecked; empty if it is not. */
  readonly reason: string;
}

/** A SwitchLBRule, with what the controller reports about it. */
export interface ReportedRule {
  readonly object: RuleObject;
  readonly generation: number;
  readonly conditions: readonly Condition[];
  /** Empty if the rule is refused, or not reported yet. */
  readonly vpc: string;
  /** Virtual addresses with ports that have no load balancer: `1.1.1.1:80/TCP`. */
  readonly unserved: readonly string[];
  readonly backends: readonly RuleBackend[];
}

/** What decides about clients of any Service. */
export interface Surroundings {
  /** Of the Service, or of the headless Service of the rule. */
  readonly slices: readonly EndpointSlice[];
  /** Pods of the namespace, by `namespace/name`. */
  readonly pods: ReadonlyMap<string, ServicePod>;
  readonly nodes: ReadonlyMap<string, ServiceNode>;
  readonly subnets: ReadonlyMap<string, ServiceSubnet>;
  readonly settings: ServiceSettings;
  /** Undefined: clients anywhere in the cluster. */
  readonly client: ServiceClient | undefined;
  /** Undefined unless the controller reports that something is not served. */
  readonly rivals: Rivals | undefined;
}

/** Other objects that want a virtual address of the Service or rule. */
export interface Rivals {
  readonly services: readonly PlacedService[];
  readonly rules: readonly ReportedRule[];
  readonly vpcDnses: readonly ValidatedDns[];
}

/** A Service with what decides its VPC. */
export type PlacedService = Pick<ServiceReading, 'service' | 'slices' | 'pods'>;

/** A VpcDns that its VPC uses. */
export interface ValidatedDns {
  readonly name: string;
  readonly vpc: string;
  /** The virtual addresses that lead to its gates, as `vipId` names them. */
  readonly vips: ReadonlySet<string>;
}

export interface ServiceReading extends Surroundings {
  readonly service: Service;
  /** The VpcDns by which a client in another VPC reaches addresses of the Service. */
  readonly gate: ValidatedDns | undefined;
}

export interface RuleReading extends Surroundings {
  readonly rule: ReportedRule;
}
