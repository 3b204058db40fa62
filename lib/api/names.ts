/** Names that rooms, users and other tools must agree on: annotations, labels, external_ids, OVN names. */

export const kubeOvnGroup = 'kubeovn.io';
export const isthmusGroup = 'isthmus.network';

/** The namespace Isthmus is installed in by default. */
export const systemNamespace = 'kube-system';

export const defaultVpc = 'ovn-cluster';
export const defaultSubnet = 'ovn-default';
export const joinSubnet = 'join';
/** The Subnet outside that `spec.enableExternal` of a Vpc means. */
export const externalSubnet = 'external';
/** The Subnet outside of a VpcNatGateway that names none. */
export const natGatewaySubnet = 'ovn-vpc-external-network';

/** Kube-OVN's settings of the default VPC's way out. */
export const externalConfig = { namespace: 'kube-system', name: 'ovn-external-gw-config' } as const;

/** The hub's own transit switch, which every member joins; has the name of Kube-OVN's first transit switch. */
export const hubSwitch = 'ts';

/** Pod, node and namespace annotations, as Kube-OVN's users know them. */
export const annotation = {
  allocated: 'ovn.kubernetes.io/allocated',
  routed: 'ovn.kubernetes.io/routed',
  ipAddress: 'ovn.kubernetes.io/ip_address',
  macAddress: 'ovn.kubernetes.io/mac_address',
  cidr: 'ovn.kubernetes.io/cidr',
  gateway: 'ovn.kubernetes.io/gateway',
  logicalSwitch: 'ovn.kubernetes.io/logical_switch',
  logicalRouter: 'ovn.kubernetes.io/logical_router',
  podNicType: 'ovn.kubernetes.io/pod_nic_type',
  excludeIps: 'ovn.kubernetes.io/exclude_ips',
  portName: 'ovn.kubernetes.io/port_name',
  chassis: 'ovn.kubernetes.io/chassis',
  ipFamily: 'ovn.kubernetes.io/ip_family',
  securityGroups: 'ovn.kubernetes.io/security_groups',
  networkPolicyFor: 'ovn.kubernetes.io/network_policy_for',
  portSecurity: 'ovn.kubernetes.io/port_security',
  portVips: 'ovn.kubernetes.io/port_vips',
  addressPairs: 'ovn.kubernetes.io/aaps',
  routes: 'ovn.kubernetes.io/routes',
  defaultRoute: 'ovn.kubernetes.io/default_route',
  dhcpV4Options: 'ovn.kubernetes.io/dhcp-v4-options',
  dhcpV6Options: 'ovn.kubernetes.io/dhcp-v6-options',
  ingressRate: 'ovn.kubernetes.io/ingress_rate',
  egressRate: 'ovn.kubernetes.io/egress_rate',
  ingressBurst: 'ovn.kubernetes.io/ingress_burst',
  egressBurst: 'ovn.kubernetes.io/egress_burst',
  latency: 'ovn.kubernetes.io/latency',
  jitter: 'ovn.kubernetes.io/jitter',
  limit: 'ovn.kubernetes.io/limit',
  loss: 'ovn.kubernetes.io/loss',
  mirror: 'ovn.kubernetes.io/mirror',
  networks: 'k8s.v1.cni.cncf.io/networks',
  defaultNetwork: 'v1.multus-cni.io/default-network',
  ipPool: 'ovn.kubernetes.io/ip_pool',
  /** On a pod of the default VPC: the address outside that stands for its own. */
  eip: 'ovn.kubernetes.io/eip',
  /** On a pod of the default VPC: the address outside with which its packets leave. */
  snat: 'ovn.kubernetes.io/snat',
  /** On a pod: the Vip whose address it uses. */
  vip: 'ovn.kubernetes.io/vip',
  /** On a pod of a KubeVirt virtual machine: the name of the machine, which is also the name of its ports. */
  virtualMachine: 'ovn.kubernetes.io/virtualmachine',
  /** On an OvnDnatRule: the OvnEip that a Kube-OVN served it with, in a load balancer of its own. */
  formerEip: 'ovn.kubernetes.io/vpc_eip',
  /** On a Service or a SwitchLBRule: the VPC whose pods reach it. */
  vpc: 'ovn.kubernetes.io/vpc',
  /** On a Service: whose endpoints clients of this cluster get first, of those that other clusters export under its name. */
  affinity: 'isthmus.network/affinity',
  /** On a Service: addresses of endpoints in other VPCs than the default one, separated by commas; `*` for all. Nodes leave them out. */
  elsewhere: 'isthmus.network/endpoints-elsewhere',
  /** On the Service of a SwitchLBRule: its virtual address. */
  switchLbVip: 'ovn.kubernetes.io/switch_lb_vip',
  /** On the Service of a RouterLBRule: its addresses outside. */
  routerLbVip: 'ovn.kubernetes.io/router_lb_vip',
  /** On a SwitchLBRule or a RouterLBRule: with `false` OVN does not check its backends. */
  healthCheck: 'ovn.kubernetes.io/service_health_check',
  /** On a pod of an underlay subnet. */
  vlanId: 'ovn.kubernetes.io/vlan_id',
  providerNetwork: 'ovn.kubernetes.io/provider_network',
  /** On a ProviderNetwork: with `true` nodes only report what they would do. */
  dryRun: 'isthmus.network/dry-run',
  /** On a Subnet, Pod, Service or EIP: announced over BGP, `true`, `cluster` or `local`. */
  bgp: 'ovn.kubernetes.io/bgp',
  /** On a Node: its second address in the Subnet `join`, with which connections of Services leave the node. */
  serviceAddress: 'isthmus.network/service-address',
  /** On a Node: what it would serve in place of kube-proxy, as JSON. */
  servicesDryRun: 'isthmus.network/services-dry-run',
  /** On a Node: with `true` its speaker announces nothing. */
  bgpDrain: 'isthmus.network/bgp-drain',
  /** On a Node: the uid of the DaemonSet whose daemon shall release the node; daemons of a later installation ignore it. */
  leave: 'isthmus.network/leave',
  /** On a pod: the problem of its own annotations (`Code: sentence`), so that no client waits for an address. */
  problem: 'isthmus.network/problem',
  /** On a Service of type LoadBalancer: the addresses it asks for, one for each family, separated by commas. */
  loadBalancerIps: 'isthmus.network/load-balancer-ips',
  /** On a Service of type LoadBalancer: the LoadBalancerPool that its addresses shall be from. */
  loadBalancerPool: 'isthmus.network/load-balancer-pool',
  /** On a Service of type LoadBalancer: Services of its namespace with the same key may have the same address. */
  sharingKey: 'isthmus.network/sharing-key',
  /** On a Subnet: namespaces whose pods may be routers and DHCP servers there, separated by commas; `*` for all. */
  routerNamespaces: 'isthmus.network/router-namespaces',
  /** On the Subnet `external`: namespaces whose pods may take addresses of it by annotations, separated by commas; `*` for all. */
  eipNamespaces: 'isthmus.network/eip-namespaces',
  /**
   * On a Subnet: the CIDRs and gateways accepted last (`10.16.0.0/16,fd00::/64 10.16.0.1,fd00::1`), and behind them the VLAN
   * (`net1/100/physical`). They stay in force when a later edit is refused.
   */
  accepted: 'isthmus.network/accepted',
} as const;

/** The prefix of the annotations of a pod's default interface. */
export const defaultProvider = 'ovn';

/** Annotations that the controller and the daemon write on Nodes. Those of provider networks have the network in their name. */
export const nodeAnnotations: readonly string[] = [
  annotation.allocated,
  annotation.ipAddress,
  annotation.macAddress,
  annotation.cidr,
  annotation.gateway,
  annotation.logicalSwitch,
  annotation.portName,
  annotation.chassis,
  annotation.serviceAddress,
];

/** The same annotation for an interface: `provider` is `ovn`, or `<attachment>.<namespace>.ovn` and so on. */
export function interfaceAnnotation(provider: string, key: string): string {
  return `${provider}.kubernetes.io/${key.slice(key.indexOf('/') + 1)}`;
}

export const label = {
  /** On a node: this node runs a speaker. */
  bgp: 'ovn.kubernetes.io/bgp',
  /** On a node: this node is a gateway to other clusters. */
  icGateway: 'ovn.kubernetes.io/ic-gw',
  subnet: 'ovn.kubernetes.io/subnet',
  nodeName: 'ovn.kubernetes.io/node-name',
  ipReserved: 'ovn.kubernetes.io/ip_reserved',
  /** On a node, with `true`: it may be the gateway of VPCs to Subnets outside. */
  externalGateway: 'ovn.kubernetes.io/external-gw',
  /** On an OvnEip of type lrp that the controller made: the Vpc whose router has the address. */
  gatewayOf: 'isthmus.network/gateway-of',
  /** On an IptablesEIP or a VpcNatGateway: the QoSPolicy whose limits it has. */
  qosPolicy: 'ovn.kubernetes.io/qos',
  /** On a Service: the SwitchLBRule that it belongs to. */
  switchLbRule: 'isthmus.network/switch-lb-rule',
  /** On a Service: the RouterLBRule that it belongs to. */
  routerLbRule: 'isthmus.network/router-lb-rule',
  /** On a Namespace: with `on`, what policies drop of its pods becomes events. */
  policyDrops: 'isthmus.network/policy-drops',
  /** On a RemoteRouteSlice and a RemotePodSlice: the RemoteCluster that owns it. */
  remoteCluster: 'isthmus.network/remote-cluster',
  /** In selectors of peers of policies: the other clusters whose pods they name. */
  cluster: 'isthmus.network/cluster',
  /** On a BgpRouteSlice: the BgpNodeState that owns it, which has the name of its node. */
  bgpNodeState: 'isthmus.network/bgp-node-state',
  /** On a Namespace that `isthmus ic verify --pods` made: the run that it belongs to. On a pod there: its role. */
  verification: 'isthmus.network/verification',
} as const;

/** A node's report about a provider network, in labels of the Node; `plan` and `err_mesg` are sentences, in annotations. */
export type ProviderNetworkKey = 'ready' | 'interface' | 'mtu' | 'vlan_interfaces' | 'exclude' | 'plan' | 'err_mesg';

/** `<network>.provider-network.kubernetes.io/ready` and so on, of a Node. */
export function providerNetworkKey(network: string, key: ProviderNetworkKey): string {
  return `${network}.provider-network.kubernetes.io/${key}`;
}

/** The network of such a key; undefined for other keys. */
export function markedNetwork(key: string): string | undefined {
  return /^([^/]+)\.provider-network\.kubernetes\.io\//.exec(key)?.[1];
}

/** The Open vSwitch bridge of a provider network. */
export function providerBridge(network: string): string {
  return `br-${network}`;
}

/** Condition of a Service: whether pods reach it by all of its addresses. Only a Service that had a problem has it. */
export const servedCondition = 'isthmus.network/Served';

/** On objects whose deletion requires cleanup by the controller. */
export const controllerFinalizer = 'isthmus.network/controller';
/** Finalizers of a former Kube-OVN controller, which no longer removes them. */
export const formerFinalizers: readonly string[] = ['kubeovn.io/kube-ovn-controller', 'kube-ovn-controller'];
export const interconnectFinalizer = 'isthmus.network/interconnect';

/** external_ids of every row we own: `<room>/<feature>/<key>`, and the row's key where the table has no name column. */
export const externalId = {
  owner: 'isthmus-owner',
  key: 'isthmus-key',
  /** Kube-OVN's tools look for it. */
  vendor: 'vendor',
  /** On a node's port: addresses of the node that have no row from which a restart could restore them. */
  withheldAddresses: 'isthmus-withheld-addresses',
} as const;
/** Maximum number of InternalIPs that are used of a node, because a kubelet may write any number. */
export const mostNodeAddresses = 16;
export const vendor = 'kube-ovn';

/** Reason of the Node's condition NetworkUnavailable with status False: its daemon has set up the node's network. */
export const networkReadyReason = 'NetworkReady';

/** Reason of the Node's condition NetworkUnavailable: its daemon has released the node. */
export const leftReason = 'IsthmusLeft';

/** The node's management port, an internal port of the integration bridge. */
export const nodeInterface = 'ovn0';
export const integrationBridge = 'br-int';

/** `<pod>.<namespace>`: the name of the port and of the IP object. */
export function podPortName(namespace: string, pod: string): string {
  return `${pod}.${namespace}`;
}

export function nodePortName(node: string): string {
  return `node-${node}`;
}

/** The port of a subnet's multicast querier, and its IP object. */
export function querierPortName(subnet: string): string {
  return `mcast-querier.${subnet}`;
}

/** Kinds of rules with a headless Service: how its name begins, its label with the name of the rule, and its annotation with the virtual addresses. */
export const lbRuleKinds = {
  SwitchLBRule: { prefix: 'slr-', label: label.switchLbRule, vipAnnotation: annotation.switchLbVip },
  RouterLBRule: { prefix: 'rlr-', label: label.routerLbRule, vipAnnotation: annotation.routerLbVip },
} as const;

export type LbRuleKind = keyof typeof lbRuleKinds;

/** With this name the source of a subnet's health checks holds its address; also the name of its IP object. */
export function healthCheckPortName(subnet: string): string {
  return `health-check.${subnet}`;
}

/** The ConfigMap of DNS servers that Kube-OVN uses unless a VpcDns names another. */
export const defaultCorefile = 'vpc-dns-corefile';

/** The switch between the router of a VPC and its gates; no Subnet can have the name. */
export function gateSwitch(vpc: string): string {
  return `dns@${vpc}`;
}

/** The port of a VPC's gates: one on each node, by which pods of the node reach DNS and the API server. */
export function gatePort(vpc: string): string {
  return `dns-gate@${vpc}`;
}

/** The port that connects a switch to the VLAN of its underlay subnet. */
export function localnetPortName(subnet: string): string {
  return `localnet.${subnet}`;
}

/** Prefix of the names with which underlay subnets hold their router's address. */
export const u2oPortPrefix = 'u2o-interconnection.';

/** The name with which an underlay subnet holds its router's address; also the name of its IP object. */
export function u2oPortName(vpc: string, subnet: string): string {
  return `${u2oPortPrefix}${vpc}.${subnet}`;
}

/** Ports that join switch and router: `<switch>-<router>` on the switch, `<router>-<switch>` on the router. */
export function switchRouterPort(switchName: string, router: string): string {
  return `${switchName}-${router}`;
}
export function routerSwitchPort(router: string, switchName: string): string {
  return `${router}-${switchName}`;
}

/** File that tells pods of a node that the node was released. */
export const leftMark = 'isthmus-left';
