/**
 * The state of one moment, as plans see it. Plans are functions of the view and a key. They return rows of the
 * northbound database and reports of what Kubernetes should hold, without regard to the rows that exist already.
 */
import type { LabelSelector } from '../../lib/api/kinds/shared.ts';
import type { Problem } from '../../lib/desired/problem.ts';
import type { Few } from '../../lib/desired/few.ts';
import type { Index } from '../../lib/store/index.ts';
import type { SelectorIndex } from '../../lib/store/selector-index.ts';
import type { PolicyDirection } from '../../lib/policies/selection.ts';
import type { Allocation, SubnetPool } from '../ipam/subnet-pool.ts';
import type { DomainRecord } from './domain.ts';
import type { Interface } from './interfaces.ts';
import type { MonitorState } from './monitors.ts';
import type { EgressGateway } from './egress-gateway.ts';
import type { ExternalRuleStore, ObjectRuleStore, PodRuleStore } from './external-rules.ts';
import type { Kinds, LbRuleStore, Pod, Policy } from './objects.ts';
import type {
  ExternalRule,
  GatewayHolder,
  GatewayPort,
  LearnedRoute,
  GatewayChoice,
  Binding,
  VlanVerdict,
  UpstreamState,
  LoadBalancer,
  LoadBalancerPoolVerdict,
  LoadBalancerUsage,
  PoolVerdict,
  Verdict,
  ServedGroup,
  ServiceVerdict,
} from './settled.ts';

/** A port that has its addresses. */
export interface HeldPort {
  /** Its name in OVN, and that of its IP object. */
  readonly port: string;
  readonly interface: Interface;
  readonly allocation: Allocation;
  /** Keys of all objects that have the port; more than one while a virtual machine migrates. The first one plans its rows. */
  readonly sharers: readonly string[];
}

export type Stores = { readonly [K in keyof Kinds]: ReadonlyMap<string, Kinds[K]> };

/** Features that this cluster's OVN and its administrator allow, determined at the start. */
export interface Capabilities {
  /** ACLs have tiers; from OVN 23.06 on. */
  readonly aclTier: boolean;
  /** Load balancers distinguish IPv6 clients by `ipv6_src`; from OVN 24.03 on. */
  readonly ipv6Selection: boolean;
  /** Whether load balancers exist, and switches have them by default. */
  readonly loadBalancers: boolean;
  /** Whether `externalIPs` of Services are served, which any author of a Service can choose. */
  readonly externalIps?: boolean;
  /** Whether a Service of type LoadBalancer gets addresses only if it names the class of Isthmus; absent: also if it names no class. */
  readonly onlyClassedLoadBalancers?: boolean;
  /** The domain of the names of Services and pods; absent: `cluster.local`. */
  readonly clusterDomain?: string;
  /** Whether OVN reports samples of the packets that policies drop. */
  readonly dropSamples?: boolean;
  /** Whether keys of ports and datapaths have twelve bits, because nodes offer VXLAN: OVN then gives no others. */
  readonly shortKeys?: boolean;
  /** Whether a router with several gateway ports serves load balancers; from OVN 25.03 on. */
  readonly severalGateways?: boolean;
  /** Whether equal routes can share connections by their ports; from OVN 24.09 on. Otherwise all UDP flows between two addresses take one of them. */
  readonly routeSelection?: boolean;
  /** Addresses of the Service `kubernetes`, which pods of the default VPC use. */
  readonly apiServer?: readonly string[];
}

/** The capabilities that flags decide. */
export type ChosenCapabilities = Pick<
  Capabilities,
  'loadBalancers' | 'externalIps' | 'onlyClassedLoadBalancers' | 'clusterDomain' | 'dropSamples' | 'shortKeys'
>;

/** Names of objects (`namespace/name` of pods) by a common property. */
export interface Indexes {
  readonly podsByNode: Index;
  /** By the port groups of the security groups that a pod names for any interface. */
  readonly podsByPortGroup: Index;
  /** Pods that select networks, all under the empty key. */
  readonly podsWithAttachments: Index;
  /** By port group name and by InternalIP; two nodes with one are in conflict. */
  readonly nodesByTrait: Index;
  readonly groupsByPortGroup: Index;
  /** By the port groups of the groups that a security group's rules name. */
  readonly groupsByRemoteGroup: Index;
  /** Security groups of tier 0 with ingress rules that pass packets on, all under the empty key. */
  readonly passingGroups: Index;
  /** Security groups of tier 1, all under the empty key. */
  readonly groupsOfTier1: Index;
  readonly poolsBySubnet: Index;
  readonly poolsByNamespace: Index;
  readonly vpcDnsesByVpc: Index;
  readonly vpcDnsesBySubnet: Index;
  readonly vpcsByNamespace: Index;
  readonly vpcsByDefaultSubnet: Index;
  /** Vpcs with enableExternal, and the default one, by the Subnets outside that they name; all of them also under the empty key. */
  readonly vpcsByExternalSubnet: Index;
  readonly natGatewaysByVpc: Index;
  /** VpcNatGateways by the Subnets outside that they name; all of them also under the empty key. */
  readonly natGatewaysByExternalSubnet: Index;
  /** VpcNatGateways that select nodes, all under the empty key. */
  readonly selectingNatGateways: Index;
  /** IptablesEIPs. */
  readonly eipsByNatGateway: Index;
  /** IptablesEIPs. */
  readonly eipsByQosPolicy: Index;
  readonly natGatewaysByQosPolicy: Index;
  /** Rules by the `id` of the address outside that they name. */
  readonly externalRulesByEip: Readonly<Record<ExternalRuleStore, Index>>;
  /** Rules by the name under which their address inside is held, where they name its holder. */
  readonly externalRulesByPort: Readonly<Record<ObjectRuleStore, Index>>;
  /** Pods whose annotations are rules, by the store of the rule. */
  readonly podsByRule: { readonly of: (store: PodRuleStore) => Iterable<string> };
  readonly snatRulesBySubnet: Index;
  /** VpcEgressGateways by their VPC, and by `subnet/` and the Subnets that they name. */
  readonly egressGatewaysBy: Index;
  /** VpcEgressGateways that select the labels of a pod and of its namespace, as `policyLabels` joins them. */
  readonly egressSelectors: SelectorIndex;
  /** OvnFips of type `distributed` under this key, those without a type under the empty one. */
  readonly distributedFips: Index;
  readonly subnetsByVpc: Index;
  readonly subnetsByVlan: Index;
  readonly subnetsByNamespace: Index;
  readonly subnetsByProvider: Index;
  /** EndpointSlices by `namespace/name` of their Service. */
  readonly slicesByService: Index;
  /** EndpointSlices by `namespace/name` of the pods of their endpoints. */
  readonly slicesByPod: Index;
  /** EndpointSlices with hints, by `namespace/name` of their Service. */
  readonly hintedSlicesByService: Index;
  /** SwitchLBRules and RouterLBRules by the namespace of their Service. */
  readonly rulesByNamespace: Readonly<Record<LbRuleStore, Index>>;
  /** The same by their virtual addresses, unless these are of an OvnEip, and by the addresses that they list as backends. */
  readonly rulesByAddress: Readonly<Record<LbRuleStore, Index>>;
  /** Services by the rule that made them. */
  readonly servicesByRule: Readonly<Record<LbRuleStore, Index>>;
  /** Services by their ClusterIPs, and by the addresses that clients outside of the cluster use, whether these are served or not. */
  readonly servicesByAddress: Index;
  /** Services with internalTrafficPolicy Local, all under the empty key. */
  readonly localServices: Index;
  /** Services with externalTrafficPolicy Local for clients outside of the cluster, all under the empty key. */
  readonly externalLocalServices: Index;
  /** Subnets that select the labels of a namespace. */
  readonly namespaceSelectors: SelectorIndex;
  /** Vips that select the labels of a pod, whatever the pod's namespace. */
  readonly vipSelectors: SelectorIndex;
}

/** Backends of SwitchLBRules that OVN checks. */
export interface HealthCheckIndex {
  /** `namespace/name` of the Services of rules with backends in a Subnet. */
  readonly bySubnet: ReadonlyMap<string, Few>;
  /** The same by the port of a backend. */
  readonly byPort: ReadonlyMap<string, Few>;
  /** Whether the rules that existed at the start are in it. */
  readonly isComplete: boolean;
}

/** A row that a former Kube-OVN left. */
export interface FormerRow {
  readonly table: 'Port_Group' | 'Address_Set';
  readonly name: string;
}

/** Where the rules of a policy of the whole cluster are among those of its tier. */
export interface PolicyPlace {
  /** How many rules come before those of the policy. */
  readonly ingress: number;
  readonly egress: number;
  /** Whether rules of other policies come after those of the policy. */
  readonly isFollowed: { readonly ingress: boolean; readonly egress: boolean };
  /** An older policy with the same priority, whose rules come before. */
  readonly rival: string | undefined;
}

/** Policies in force, and what is known of the pods that they concern. A peer is named by the text of its selector. */
export interface PolicyIndex {
  /** By `namespace/name`, and by `Kind/name` those of the whole cluster. */
  readonly inForce: ReadonlyMap<string, Policy>;
  /** Of a policy of the whole cluster in force. */
  place(policy: string): PolicyPlace | undefined;
  /** Policies of the whole cluster with rules about nodes. */
  ofNodes(): Iterable<string>;
  /** Policies with rules about a named port, as `namedPortKey` names it. */
  ofNamedPort(key: string): Iterable<string>;
  /** What policies select, as `selectionOf` names it. */
  selections(): Iterable<string>;
  /** Policies that select the same. */
  ofSelection(selection: string): Iterable<string>;
  /** Policies with rules about a domain name. */
  ofDomain(name: string): Iterable<string>;
  /** Policies that select a pod, whatever its interfaces; sorted. */
  selecting(pod: Pod): readonly string[];
  /** Whether a policy in force selects any pod that has the network of the cluster. */
  selectsPods(policy: string): boolean;
  /** Whether a port of a pod was isolated at the start, when its Namespace was being deleted: the policies may have been deleted before. */
  wasIsolated(pod: Pod, port: string, direction: PolicyDirection): boolean;
  /** Whether it selects none, and did not select any a minute ago. */
  isIdle(policy: string): boolean;
  /** The peers that a pod is, sorted. */
  peersOf(pod: Pod): readonly string[];
  /** The peers that a policy names. */
  peersOfPolicy(policy: string): Iterable<string>;
  /** The policies that name a peer. */
  ofPeer(peer: string): Iterable<string>;
  /** Whether a policy of the whole cluster names a peer. */
  isPeerOfCluster(peer: string): boolean;
  /** All peers that policies name. */
  peers(): Iterable<string>;
  podsOfNamespace(namespace: string): Iterable<string>;
  /** Pods that a selector of `selection.ts` selects. */
  podsMatching(selector: LabelSelector): readonly string[];
  /** Whether policies of the whole cluster may select the pod, whose Namespace is not known yet. */
  isUnknown(pod: Pod): boolean;
  /** The VPCs of the ports in the namespaces of a policy, sorted. */
  vpcs(policy: string): readonly string[];
  /** The VPCs in which policies name a peer, sorted. */
  peerVpcs(peer: string): readonly string[];
  isPeerIn(peer: string, vpc: string): boolean;
  /** Named ports by which egress rules reach the pods of a peer, as `namedPortKey` names them. */
  namedPortsOfPeer(peer: string): readonly string[];
  /** The lowest numbers that pods give a named port, as `namedPortKey` names it; sorted. */
  numbers(key: string): readonly number[];
  /** Whether rules with the named port contain a number that pods give it. */
  hasNumber(key: string, number: number): boolean;
  /** Whether pods give the named port as many numbers as rules can contain, or more. */
  isCrowded(key: string): boolean;
  /** Whether pods give the named port more numbers than rules contain. */
  hasMoreNumbers(key: string): boolean;
}

/** The domain names that policies in force name. */
export interface DomainIndex {
  /** Whether servers are asked; otherwise nothing is known but the addresses. */
  readonly isAsking: boolean;
  names(): Iterable<string>;
  /** The addresses of a name. */
  record(name: string): DomainRecord;
  /** Why a rule with the name matches nothing, or not what it should. */
  problem(name: string): Problem | undefined;
}

export interface View extends Stores {
  readonly indexes: Indexes;
  readonly capabilities: Capabilities;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** Subnets with a network in force in a VLAN. */
  readonly subnetsInVlans: ReadonlySet<string>;
  readonly vlanVerdicts: ReadonlyMap<string, VlanVerdict>;
  readonly poolVerdicts: ReadonlyMap<string, PoolVerdict>;
  /** Verdicts on the Services that have virtual addresses, by `namespace/name`; on SwitchLBRules by that of their Service. */
  readonly serviceVerdicts: ReadonlyMap<string, ServiceVerdict>;
  readonly loadBalancerPoolVerdicts: ReadonlyMap<string, LoadBalancerPoolVerdict>;
  /** Services to which Isthmus allocates addresses, or whose status still has some of these, by `namespace/name`. */
  readonly loadBalancers: ReadonlyMap<string, LoadBalancer>;
  readonly healthChecks: HealthCheckIndex;
  /** States of health checks, as `monitorKey` names them; undefined while the southbound database is not known. */
  readonly monitors: ReadonlyMap<string, MonitorState> | undefined;
  /** Why a node has no tunnels to some others. */
  readonly tunnels: { problem(node: string): Problem | undefined };
  /** Ports of a subnet that have longer keys than VXLAN carries. */
  readonly unreachablePorts: { of(subnet: string): readonly string[] };
  readonly policies: PolicyIndex;
  readonly domains: DomainIndex;
  /** Rows of a former Kube-OVN's policies, until those of its successors are in the database. */
  readonly formerPolicyRows: readonly FormerRow[];
  /** Security groups that have rows, by name. */
  readonly servedGroups: ReadonlyMap<string, ServedGroup>;
  /** The gateway nodes in use, by Subnet with a centralized gateway. */
  readonly gateways: ReadonlyMap<string, GatewayChoice>;
  /** Routes of the default VPC for prefixes that nodes learned by BGP, by prefix. */
  readonly learned: ReadonlyMap<string, LearnedRoute>;
  /** Ports of routers in Subnets outside, by `<vpc>/<subnet>`. */
  readonly gatewayPorts: ReadonlyMap<string, GatewayPort>;
  /** Which chassis has each of these ports, by the name of the router's port; undefined while the southbound database is not known. */
  readonly gatewayHolders: ReadonlyMap<string, GatewayHolder> | undefined;
  /** The states of BFD sessions with routers outside that answered once, as `upstreamKey` names them. */
  readonly upstreams: ReadonlyMap<string, UpstreamState>;
  /** Verdicts on the rules that use addresses outside, by `<store>/<name>`. */
  readonly externalRules: ReadonlyMap<string, ExternalRule>;
  /** Verdicts on VpcEgressGateways, by `namespace/name`. */
  readonly egressGateways: ReadonlyMap<string, EgressGateway>;
  /** Names of the chassis in the southbound database; undefined if they are not known. */
  readonly chassis: ReadonlySet<string> | undefined;
  /** The VPC and the subnets of a namespace. */
  binding(namespace: string): Binding;
  /** Namespaces that a Subnet requests and that belong to another VPC. */
  unservedNamespaces(subnet: string): readonly string[];
  /** Namespaces whose pods get addresses of a Subnet. */
  namespacesOf(subnet: string): ReadonlySet<string>;
  /** IPPools of a namespace, in the order they are used. */
  boundPools(namespace: string): readonly string[];
  /** Ports of a pod, node, … that have addresses, by its key (`pod/default/web`); the default interface first. */
  ports(key: string): readonly HeldPort[];
  /** The addresses under a port's name. */
  allocation(port: string): Allocation | undefined;
  /** Whether addresses are allocated under a port's name. */
  isAllocated(port: string): boolean;
  pool(subnet: string): SubnetPool | undefined;
  /** Subnets of a VPC that have rows, by name. */
  servedSubnets(vpc: string): readonly string[];
  /** Counts of the addresses of a LoadBalancerPool. */
  loadBalancerUsage(pool: string): LoadBalancerUsage;
  /** Keys of the objects with ports in the subnet. */
  keysIn(subnet: string): Iterable<string>;
  /** The holder among several nodes with the same port group name or InternalIP. */
  holderOf(trait: string): string | undefined;
  /** Why an object has no address, or not all that it requests; by its key. */
  addressProblem(key: string): Problem | undefined;
}
