/**
 * Kubernetes objects as the controller sees them: one immutable value for each object, created by `watch/` and
 * read by all later stages. Only fields that plans and statuses need. Invalid values of a user are kept as
 * written, to be judged by `plan/`.
 */
import type { AskedDomain } from '../../lib/api/kinds/asked-domains.ts';
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import { defaultVpc } from '../../lib/api/names.ts';
import type { PodCondition } from '../../lib/api/pod-addresses.ts';
import type { ProviderNodeSpec } from '../../lib/api/provider-nodes.ts';
import type { ClusterRules, NamedPort, PolicyRules } from '../../lib/policies/policy.ts';
import type { EndpointSlice, Service } from '../../lib/services/service.ts';
import type { RuleObject } from '../../lib/services/switch-lb-rule.ts';
import type { RemotePodSets } from '../../lib/slices/remote-pods.ts';
import type { UnlistedNetwork } from '../../lib/slices/remote-routes.ts';
import type { Cidr } from '../../lib/net/cidr.ts';
import type { Family, Ip } from '../../lib/net/ip.ts';
import type { ApiObjectFacts, ObjectFacts } from './object-facts.ts';
import type { VpcEgressGateway } from './egress-gateway.ts';
import type {
  ExternalConfig,
  OvnDnatRule,
  OvnEip,
  OvnFip,
  OvnSnatRule,
  QosPolicy,
  RouterLbRule,
  VpcNatGateway,
} from './external-objects.ts';

/** The controller among an object's owners. */
export interface OwnerRef {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface Pod extends ObjectFacts {
  readonly namespace: string;
  /** Undefined until scheduled. */
  readonly node: string | undefined;
  readonly isHostNetwork: boolean;
  /** Succeeded or Failed: its sandbox is gone for good. */
  readonly isFinished: boolean;
  readonly owner: OwnerRef | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** The annotations this room reads or writes. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The controller's condition about its addresses. It is in the status, where the author of the pod cannot write. */
  readonly addressCondition: PodCondition | undefined;
  /** The controller's conditions about addresses outside, by the annotation that names one. */
  readonly outsideConditions: Readonly<Partial<Record<'eip' | 'snat', PodCondition>>>;
  /** Ports of its containers that have names. */
  readonly namedPorts: readonly NamedPort[];
  /** Annotations that request unsupported features. */
  readonly unsupported: readonly string[];
}

export interface Node extends ObjectFacts {
  /** InternalIP addresses as the kubelet reported them. */
  readonly addresses: readonly string[];
  /** ExternalIP addresses. */
  readonly externalAddresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The kubelet reports Ready, and no condition reports that the node's network is unavailable. */
  readonly isReady: boolean;
  /** It accepts no further pods: it is about to be drained. */
  readonly isCordoned: boolean;
}

export interface Namespace extends ObjectFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** An ACL of a Subnet, as written. */
export interface SubnetAcl {
  readonly direction: string;
  readonly priority: number;
  readonly match: string;
  readonly action: string;
}

export interface NatRule {
  readonly srcIPs: string;
  readonly dstIPs: string;
  readonly action: string;
}

export interface SubnetSpec {
  readonly isDefault: boolean | undefined;
  readonly vpc: string;
  readonly protocol: string;
  readonly provider: string;
  readonly namespaces: readonly string[];
  readonly namespaceSelectors: readonly LabelSelector[];
  readonly cidrBlock: string;
  readonly gateway: string;
  readonly excludeIps: readonly string[];
  readonly vips: readonly string[];
  readonly mtu: number;
  readonly gatewayType: string;
  readonly gatewayNode: string;
  readonly gatewayNodeSelectors: readonly LabelSelector[];
  readonly enableEcmp: boolean;
  readonly natOutgoing: boolean;
  readonly natOutgoingPolicyRules: readonly NatRule[];
  readonly externalEgressGateway: string;
  readonly policyRoutingPriority: number;
  readonly policyRoutingTableID: number;
  readonly routeTable: string;
  readonly isPrivate: boolean;
  readonly allowSubnets: readonly string[];
  readonly allowEWTraffic: boolean;
  readonly acls: readonly SubnetAcl[];
  readonly disableInterConnection: boolean;
  readonly enableDHCP: boolean;
  readonly dhcpV4Options: string;
  readonly dhcpV6Options: string;
  readonly enableIPv6RA: boolean;
  readonly ipv6RAConfigs: string;
  /** Undefined if not given. */
  readonly enableLb: boolean | undefined;
  readonly enableMulticastSnoop: boolean;
  /** Name of the Vlan; empty for an overlay subnet. */
  readonly vlan: string;
  readonly logicalGateway: boolean;
  readonly u2oInterconnection: boolean;
  readonly u2oInterconnectionIP: string;
  readonly overlayOnlyRouting: boolean;
}

export interface Subnet extends ApiObjectFacts {
  readonly spec: SubnetSpec;
  /** Fields of the spec that are set and not supported. */
  readonly unsupported: readonly string[];
  /** The annotations this room reads or writes. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** A physical network that interfaces of nodes lead to. */
export interface ProviderNetwork extends ApiObjectFacts {
  readonly spec: ProviderNodeSpec;
  /** Nodes only report what they would do. */
  readonly isDryRun: boolean;
}

/** One VLAN of a physical network. */
export interface Vlan extends ApiObjectFacts {
  readonly spec: {
    /** 0 for packets without a tag. */
    readonly id: number;
    readonly provider: string;
  };
}

export interface StaticRoute {
  /** `policySrc`, `policyDst`, or empty for the latter. */
  readonly policy: string;
  readonly cidr: string;
  readonly nextHopIP: string;
  readonly routeTable: string;
  readonly ecmpMode: string;
  readonly bfdId: string;
}

export interface PolicyRoute {
  readonly priority: number;
  readonly match: string;
  readonly action: string;
  /** Comma list. */
  readonly nextHopIP: string;
}

export interface VpcPeering {
  readonly remoteVpc: string;
  readonly localConnectIP: string;
}

export interface VpcSpec {
  readonly enableExternal: boolean;
  readonly enableBfd: boolean;
  readonly extraExternalSubnets: readonly string[];
  readonly defaultSubnet: string;
  readonly namespaces: readonly string[];
  readonly staticRoutes: readonly StaticRoute[];
  readonly policyRoutes: readonly PolicyRoute[];
  readonly vpcPeerings: readonly VpcPeering[];
}

export interface Vpc extends ApiObjectFacts {
  readonly spec: VpcSpec;
  readonly unsupported: readonly string[];
}

/** A network between clusters, as the interconnect reports it. */
export interface TransitSwitch {
  readonly name: string;
  /** The VPC of this cluster that takes part. */
  readonly vpc: string;
  readonly cidrs: readonly Cidr[];
  /** Logical switches. */
  readonly paths: readonly string[];
}

/** Encrypted tunnels to a cluster, from the agent to daemons. */
export interface KeySlice {
  /** Network of the addresses within tunnels; undefined if it cannot be read. */
  readonly cidr: Cidr | undefined;
}

/** A prefix of another cluster that this one accepts. */
export interface RemoteRoute {
  readonly cidr: Cidr;
  readonly transitSwitch: string;
  /** That cluster learned it from its routers; it is not a prefix of its own. */
  readonly isLearned: boolean;
  /** Packets go there now. */
  readonly isActive: boolean;
}

/** Another cluster, as the interconnect reports it. */
export interface RemoteCluster extends ObjectFacts {
  /** Those that are not rejected, each once, whether a path to it is up or not. */
  readonly routes: readonly RemoteRoute[];
  /** Networks that contain further prefixes of the cluster, which do not fit into the object. */
  readonly unlisted: readonly UnlistedNetwork[];
  /** Tunnel addresses. */
  readonly gateways: readonly string[];
}

/** The networks from which Kubernetes allocates the addresses of Services. */
export interface ServiceCidr extends ObjectFacts {
  readonly cidrs: readonly string[];
}

/** Prefixes for the default VPC that the speaker on the node of this name learned from routers. */
export interface BgpNodeState extends ObjectFacts {
  /** Prefix in canonical text → preference. */
  readonly learned: ReadonlyMap<string, number>;
}

/** An IP object: shows users and other tools which object holds an address. */
export interface IpObject extends ObjectFacts {
  readonly finalizers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    readonly podName: string;
    readonly namespace: string;
    readonly subnet: string;
    readonly nodeName: string;
    readonly ipAddress: string;
    readonly v4IpAddress: string;
    readonly v6IpAddress: string;
    readonly macAddress: string;
    readonly podType: string;
  };
}

export interface IpPool extends ApiObjectFacts {
  readonly spec: {
    readonly subnet: string;
    /** Addresses, ranges `a..b` and CIDRs. */
    readonly ips: readonly string[];
    readonly namespaces: readonly string[];
    readonly enableAddressSet: boolean;
  };
}

/** Addresses for Services of type LoadBalancer. */
export interface LoadBalancerPool extends ApiObjectFacts {
  readonly spec: {
    /** CIDRs, addresses and ranges. */
    readonly addresses: readonly string[];
    readonly serviceSelector: LabelSelector;
    readonly namespaceSelector: LabelSelector;
    readonly autoAssign: boolean;
    /** Clusters share the pool: its addresses are those that SharedAddresses have. */
    readonly isShared: boolean;
  };
}

/** The addresses that a Service has in all clusters, as the agent of the interconnect wrote them. */
export interface SharedAddress {
  /** `namespace/name` of the Service. */
  readonly service: string;
  /** Name of the LoadBalancerPool. */
  readonly pool: string;
  readonly addresses: ReadonlyMap<Family, Ip>;
  /** Empty if no address is missing. */
  readonly reason: string;
  readonly message: string;
}

/** The name of the SharedAddress of a Service, `namespace/name`. */
export function sharedAddressName(service: string): string {
  return service.replace('/', '.');
}

export interface Vip extends ApiObjectFacts {
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    readonly namespace: string;
    readonly subnet: string;
    readonly type: string;
    readonly v4ip: string;
    readonly v6ip: string;
    readonly macAddress: string;
    /** `key:value` each; pods of the namespace with all of these labels may use the address. */
    readonly selector: readonly string[];
    readonly attachSubnets: readonly string[];
  };
}

/** A virtual address of a VPC, with backends. */
export interface SwitchLbRule extends ApiObjectFacts, RuleObject {}

/** Rules with a headless Service, by the name of their store. */
export const lbRuleStores = { switchLbRules: 'SwitchLBRule', routerLbRules: 'RouterLBRule' } as const;

export type LbRuleStore = keyof typeof lbRuleStores;

/** A rule of either kind. */
export type LbRule = SwitchLbRule | RouterLbRule;

/** DNS and the API server for pods of a custom VPC. */
export interface VpcDns extends ApiObjectFacts {
  readonly spec: {
    readonly vpc: string;
    /** Empty where not given, as `corefile`. */
    readonly subnet: string;
    readonly corefile: string;
  };
}

export interface SecurityGroupRule {
  readonly ipVersion: string;
  readonly protocol: string;
  readonly priority: number;
  readonly remoteType: string;
  readonly remoteAddress: string;
  readonly remoteSecurityGroup: string;
  readonly localAddress: string;
  /** Zero if not given, as the others below. */
  readonly portRangeMin: number;
  readonly portRangeMax: number;
  readonly sourcePortRangeMin: number;
  readonly sourcePortRangeMax: number;
  readonly policy: string;
}

export interface SecurityGroup extends ApiObjectFacts {
  readonly spec: {
    readonly ingressRules: readonly SecurityGroupRule[];
    readonly egressRules: readonly SecurityGroupRule[];
    readonly allowSameGroupTraffic: boolean;
    readonly tier: number;
  };
}

/** Its pods keep their addresses while it exists. */
export interface StatefulSet extends ObjectFacts {
  readonly namespace: string;
  readonly replicas: number;
  /** Ordinal of the first pod. */
  readonly start: number;
}

/** A KubeVirt virtual machine, or an instance of one. */
export interface VirtualMachine extends ObjectFacts {
  readonly namespace: string;
}

/** A NetworkAttachmentDefinition. */
export interface Attachment extends ObjectFacts {
  readonly namespace: string;
  /** `<name>.<namespace>.ovn`, where its configuration names this network; undefined for other plug-ins'. */
  readonly provider: string | undefined;
}

/** A NetworkPolicy; its annotations are those that this room writes. */
export interface NetworkPolicy extends ObjectFacts, PolicyRules {
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations that request unsupported features. */
  readonly unsupported: readonly string[];
}

/** A ClusterNetworkPolicy, an AdminNetworkPolicy or a BaselineAdminNetworkPolicy. */
export interface ClusterPolicy extends ApiObjectFacts, ClusterRules {}

/** A policy of a namespace or of the whole cluster. */
export type Policy = NetworkPolicy | ClusterPolicy;

/** All kinds that are watched, by the name of their store. */
export interface Kinds {
  readonly vpcs: Vpc;
  readonly subnets: Subnet;
  readonly vlans: Vlan;
  readonly providerNetworks: ProviderNetwork;
  readonly nodes: Node;
  readonly namespaces: Namespace;
  readonly pods: Pod;
  readonly ips: IpObject;
  readonly ipPools: IpPool;
  readonly vips: Vip;
  readonly securityGroups: SecurityGroup;
  readonly statefulSets: StatefulSet;
  readonly virtualMachines: VirtualMachine;
  readonly virtualMachineInstances: VirtualMachine;
  readonly attachments: Attachment;
  readonly transitSwitches: TransitSwitch;
  readonly keySlices: KeySlice;
  readonly remoteClusters: RemoteCluster;
  /** By RemoteCluster: the sets of addresses of its pods that policies name. */
  readonly remotePods: RemotePodSets;
  readonly bgpNodeStates: BgpNodeState;
  readonly serviceCidrs: ServiceCidr;
  readonly services: Service;
  readonly endpointSlices: EndpointSlice;
  readonly loadBalancerPools: LoadBalancerPool;
  readonly sharedAddresses: SharedAddress;
  /** By node: the domain names that its pods asked for. */
  readonly askedDomains: readonly AskedDomain[];
  readonly switchLbRules: SwitchLbRule;
  readonly routerLbRules: RouterLbRule;
  readonly vpcDnses: VpcDns;
  /** One at most. */
  readonly externalConfigs: ExternalConfig;
  readonly ovnEips: OvnEip;
  readonly ovnFips: OvnFip;
  readonly ovnSnatRules: OvnSnatRule;
  readonly ovnDnatRules: OvnDnatRule;
  readonly vpcNatGateways: VpcNatGateway;
  /** The kinds of a VpcNatGateway give the same values as those without. */
  readonly iptablesEips: OvnEip;
  readonly iptablesFips: OvnFip;
  readonly iptablesSnats: OvnSnatRule;
  readonly iptablesDnats: OvnDnatRule;
  readonly qosPolicies: QosPolicy;
  readonly vpcEgressGateways: VpcEgressGateway;
  readonly networkPolicies: NetworkPolicy;
  readonly clusterNetworkPolicies: ClusterPolicy;
  readonly adminNetworkPolicies: ClusterPolicy;
  readonly baselineAdminNetworkPolicies: ClusterPolicy;
}

/** The kinds of policies of the whole cluster, by the name of their store. */
const clusterPolicyKinds = {
  clusterNetworkPolicies: 'ClusterNetworkPolicy',
  adminNetworkPolicies: 'AdminNetworkPolicy',
  baselineAdminNetworkPolicies: 'BaselineAdminNetworkPolicy',
} as const;

export type ClusterPolicyStore = keyof typeof clusterPolicyKinds;

export const clusterPolicyStores = Object.keys(clusterPolicyKinds) as readonly ClusterPolicyStore[];

/** `Kind/name`, which no `namespace/name` is. */
export function clusterPolicyKey(store: ClusterPolicyStore, name: string): string {
  return `${clusterPolicyKinds[store]}/${name}`;
}

/** Whether a key of a policy in force is that of one of the whole cluster: names of namespaces have no capital letters. */
export function isClusterKey(key: string): boolean {
  return /^[A-Z]/.test(key);
}

/** `namespace/name`, as reflectors key namespaced objects. */
export function podKey(pod: { readonly namespace: string; readonly name: string }): string {
  return `${pod.namespace}/${pod.name}`;
}

/** The VPC of a Subnet. */
export function vpcNameOf(spec: { readonly vpc: string }): string {
  return spec.vpc === '' ? defaultVpc : spec.vpc;
}
