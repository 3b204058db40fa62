import { annotation, externalId, label } from '../names.ts';

interface Meaning {
  readonly on: string;
  readonly writer: 'Isthmus' | 'you' | 'Isthmus, or you for a fixed value';
  readonly text: string;
}

const annotations: Record<keyof typeof annotation, Meaning> = {
  bgp: {
    on: 'Subnet, Pod, Service, OvnEip; IptablesEIP of Kube-OVN',
    writer: 'you',
    text: 'Announced over BGP. `true` or `cluster`: by every speaker; of a subnet its CIDRs and the addresses of its pods, of a service its cluster IPs. `local`: by the speaker of the node that has the pod or a ready endpoint. A pod overrides its subnet.',
  },
  bgpDrain: {
    on: 'Node',
    writer: 'you',
    text: '`true`: the speaker of the node lowers its routes, then withdraws them.',
  },
  formerEip: {
    on: 'OvnDnatRule',
    writer: 'you',
    text: 'Written by Kube-OVN, and only read: the rule keeps the load balancer that Kube-OVN made for it.',
  },
  leave: {
    on: 'Node',
    writer: 'Isthmus',
    text: 'Written by `isthmus nodes leave`, which `helm uninstall` runs: the uid of the DaemonSet `isthmus-daemon` whose daemon must release the node. Daemons of another DaemonSet ignore it.',
  },
  serviceAddress: {
    on: 'Node',
    writer: 'Isthmus',
    text: 'A second address of the node in the Subnet `join`, `v4`, `v6` or `v4,v6`: the source of connections that the node passes on to endpoints of Services.',
  },
  servicesDryRun: {
    on: 'Node',
    writer: 'Isthmus',
    text: 'With `services.nodes: dry-run`: what the node would serve in place of kube-proxy, and what would be in the way, as JSON. `isthmus nodes services` prints it.',
  },
  affinity: {
    on: 'Service',
    writer: 'you',
    text: 'Whose endpoints clients of this cluster get first behind the import of this name: `local`, `remote`, `nearest`, `none`; see the [guide](../guides/multicluster-services.md#the-nearest-cluster).',
  },
  elsewhere: {
    on: 'Service',
    writer: 'Isthmus',
    text: 'Addresses of its endpoints in other VPCs than `ovn-cluster`, which nodes leave out; `*`: the Service is in another VPC, and nodes do not serve it.',
  },
  loadBalancerIps: {
    on: 'Service',
    writer: 'you',
    text: 'Addresses that a Service of type LoadBalancer requests, one for each family, separated by a comma; before `spec.loadBalancerIP`.',
  },
  loadBalancerPool: {
    on: 'Service',
    writer: 'you',
    text: 'LoadBalancerPool from which a Service of type LoadBalancer gets its addresses.',
  },
  sharingKey: {
    on: 'Service',
    writer: 'you',
    text: 'Services of type LoadBalancer of one namespace with the same key may have the same address, each with ports of its own.',
  },
  accepted: {
    on: 'Subnet',
    writer: 'Isthmus',
    text: 'CIDRs, gateways and VLAN in force: those accepted last. A refused edit of the spec leaves them.',
  },
  allocated: { on: 'Pod, Node', writer: 'Isthmus', text: '`true` once the object has an address.' },
  routed: { on: 'Pod', writer: 'Isthmus', text: '`true` once the port of the pod is in OVN.' },
  ipAddress: {
    on: 'Pod, Node',
    writer: 'Isthmus, or you for a fixed value',
    text: 'Address, `v4`, `v6` or `v4,v6`. Set on a pod template, it requests that address.',
  },
  macAddress: { on: 'Pod, Node', writer: 'Isthmus, or you for a fixed value', text: 'MAC address of the interface.' },
  cidr: {
    on: 'Pod, Node, Namespace',
    writer: 'Isthmus',
    text: 'CIDR of the subnet; on a namespace one per subnet, separated by `;`.',
  },
  gateway: { on: 'Pod, Node', writer: 'Isthmus', text: 'Gateway of the subnet.' },
  logicalSwitch: {
    on: 'Pod, Node, Namespace',
    writer: 'Isthmus, or you for a fixed value',
    text: 'Subnet. Set on a pod, it requests that subnet; on a namespace it is the list of its subnets, the first being the default.',
  },
  logicalRouter: {
    on: 'Pod, SwitchLBRule',
    writer: 'Isthmus, or you for a fixed value',
    text: 'VPC. Set on a SwitchLBRule, it is the VPC whose pods reach the rule.',
  },
  podNicType: { on: 'Pod', writer: 'Isthmus', text: 'How the pod is attached: `veth-pair`.' },
  excludeIps: {
    on: 'Namespace',
    writer: 'Isthmus',
    text: 'Excluded addresses of its subnets, one list per subnet, separated by `;`.',
  },
  portName: { on: 'Node', writer: 'Isthmus', text: 'Logical port of the node, `node-<name>`.' },
  chassis: { on: 'Node', writer: 'Isthmus', text: 'OVN chassis id (`system-id`) of the node.' },
  ipPool: {
    on: 'Pod, Namespace',
    writer: 'Isthmus, or you for a fixed value',
    text: 'On a pod: an IPPool, or addresses to choose from, `v4,v4` or with both families `v4,v6;v4,v6`; pods of a StatefulSet take them by ordinal. On a namespace, written by Isthmus: the IPPools bound to it.',
  },
  ipFamily: {
    on: 'Pod',
    writer: 'you',
    text: '`ipv4` or `ipv6`: the only family that the pod gets from a subnet with both.',
  },
  securityGroups: {
    on: 'Pod',
    writer: 'you',
    text: 'SecurityGroups of the interface, separated by commas; traffic that none of them allows is dropped.',
  },
  networkPolicyFor: {
    on: 'NetworkPolicy',
    writer: 'you',
    text: 'Interfaces to which the policy applies, separated by commas: `ovn` for the default one, `<namespace>/<attachment>` for another; all without it.',
  },
  portSecurity: {
    on: 'Pod',
    writer: 'you',
    text: '`false`: the pod may send from addresses that are not its own.',
  },
  portVips: {
    on: 'Pod',
    writer: 'you',
    text: 'Addresses beside its own that the pod may send from, separated by commas.',
  },
  addressPairs: {
    on: 'Pod',
    writer: 'you',
    text: 'Vips whose address the pod may hold beside its own, separated by commas.',
  },
  eip: {
    on: 'Pod',
    writer: 'you',
    text: 'Address of the Subnet `external` that stands for that of the pod, in both directions. The Subnet must permit it, see `isthmus.network/eip-namespaces`; the condition `isthmus.network/Eip` of the pod shows the outcome.',
  },
  snat: {
    on: 'Pod',
    writer: 'you',
    text: 'Address of the Subnet `external` with which packets of the pod leave; several pods of a namespace may name one. The Subnet must permit it, see `isthmus.network/eip-namespaces`; the condition `isthmus.network/Snat` of the pod shows the outcome.',
  },
  eipNamespaces: {
    on: 'Subnet `external`',
    writer: 'you',
    text: 'Namespaces whose pods may take free addresses of the Subnet by the annotations `ovn.kubernetes.io/eip` and `ovn.kubernetes.io/snat`, separated by commas; `*` for all. Absent: none.',
  },
  vip: { on: 'Pod', writer: 'you', text: 'Vip whose address the pod gets as its own.' },
  routes: {
    on: 'Pod',
    writer: 'you',
    text: 'Routes inside the pod, JSON: `[{"dst":"10.9.0.0/16","gw":"10.16.0.9"}]`.',
  },
  defaultRoute: {
    on: 'Pod',
    writer: 'you',
    text: '`true` or `false`: whether this interface has the default route; by default the first one has.',
  },
  dhcpV4Options: { on: 'Pod', writer: 'you', text: 'DHCPv4 options of the interface in place of those of the subnet.' },
  dhcpV6Options: { on: 'Pod', writer: 'you', text: 'DHCPv6 options of the interface in place of those of the subnet.' },
  vpc: {
    on: 'Service, SwitchLBRule',
    writer: 'you',
    text: 'VPC whose pods reach the Service. Without it the VPC of the first endpoint, by address, else `ovn-cluster`.',
  },
  switchLbVip: {
    on: 'Service of a SwitchLBRule',
    writer: 'Isthmus',
    text: 'Virtual address of the rule. On a Service that belongs to no rule it has no effect.',
  },
  routerLbVip: {
    on: 'Service of a RouterLBRule',
    writer: 'Isthmus',
    text: 'Addresses outside of the rule. On a Service that belongs to no rule it has no effect.',
  },
  healthCheck: {
    on: 'SwitchLBRule, RouterLBRule',
    writer: 'you',
    text: '`false`: OVN does not check the backends of the rule.',
  },
  virtualMachine: {
    on: 'Pod',
    writer: 'Isthmus',
    text: 'Virtual machine whose port and address the pod has.',
  },
  ingressRate: {
    on: 'Pod, Node',
    writer: 'you',
    text: 'Limit of traffic to the pod in Mbit/s; on a node, of traffic to it through `ovn0`.',
  },
  egressRate: {
    on: 'Pod, Node',
    writer: 'you',
    text: 'Limit of traffic from the pod in Mbit/s; on a node, of traffic from it through `ovn0`.',
  },
  ingressBurst: { on: 'Pod, Node', writer: 'you', text: 'Burst above `ingress_rate`, in Mbit; 80 % of it by default.' },
  egressBurst: { on: 'Pod, Node', writer: 'you', text: 'Burst above `egress_rate`, in Mbit; 80 % of it by default.' },
  latency: { on: 'Pod', writer: 'you', text: 'Delay of packets to the pod, in milliseconds.' },
  jitter: { on: 'Pod', writer: 'you', text: 'Variation of `latency`, in milliseconds.' },
  limit: { on: 'Pod', writer: 'you', text: 'Packets that the delay may hold back.' },
  loss: { on: 'Pod', writer: 'you', text: 'Percentage of lost packets to the pod.' },
  mirror: {
    on: 'Pod',
    writer: 'you',
    text: '`true`: traffic of the pod is copied to the mirror interface of its node.',
  },
  vlanId: { on: 'Pod', writer: 'Isthmus', text: 'VLAN of an underlay subnet.' },
  providerNetwork: { on: 'Pod', writer: 'Isthmus', text: 'ProviderNetwork of an underlay subnet.' },
  dryRun: {
    on: 'ProviderNetwork',
    writer: 'you',
    text: '`true`: nodes report in the conditions of the network what they would do, and do nothing.',
  },
  routerNamespaces: {
    on: 'Subnet',
    writer: 'you',
    text: 'Namespaces whose pods may be routers, DHCP servers and multicast queriers in the subnet, separated by commas; `*` for all. Ports of other pods pass no router advertisement, no redirect, no DHCP answer and no multicast query.',
  },
  networks: {
    on: 'Pod',
    writer: 'you',
    text: 'NetworkAttachmentDefinitions: the interfaces of the pod beside the first.',
  },
  defaultNetwork: { on: 'Pod', writer: 'you', text: 'NetworkAttachmentDefinition of the first interface.' },
  problem: {
    on: 'Pod, NetworkPolicy',
    writer: 'Isthmus',
    text: 'What is wrong with the annotations of the pod, `<Code>: <sentence>`; a new pod does not start with it, and it is removed once they are corrected. On a NetworkPolicy: what of it has no effect.',
  },
};

const labels: Record<keyof typeof label, Meaning> = {
  cluster: {
    on: 'selectors of peers of policies',
    writer: 'you',
    text: 'No label of an object: the other clusters whose pods a peer names, see the [guide](../guides/policy-across-clusters.md).',
  },
  bgp: { on: 'Node', writer: 'you', text: '`true`: the node runs a BGP speaker.' },
  icGateway: { on: 'Node', writer: 'you', text: '`true`: the node is a gateway to other clusters.' },
  subnet: { on: 'IP', writer: 'Isthmus', text: 'Subnet of the address.' },
  nodeName: { on: 'IP', writer: 'Isthmus', text: 'Node of the pod.' },
  ipReserved: {
    on: 'IP',
    writer: 'Isthmus, or you for a fixed value',
    text: '`true`: the address stays reserved without a pod.',
  },
  externalGateway: {
    on: 'Node',
    writer: 'you',
    text: '`true`: the node may be the gateway of VPCs to Subnets outside, if it has their ProviderNetwork.',
  },
  gatewayOf: {
    on: 'OvnEip',
    writer: 'Isthmus',
    text: 'The Vpc whose router has the address. Isthmus made the OvnEip, and removes it with the port of the router.',
  },
  qosPolicy: {
    on: 'IptablesEIP, VpcNatGateway',
    writer: 'Isthmus',
    text: 'The QoSPolicy whose limits the object has; absent if its name is longer than 63 characters.',
  },
  switchLbRule: {
    on: 'Service',
    writer: 'Isthmus',
    text: 'The SwitchLBRule whose Service it is.',
  },
  routerLbRule: {
    on: 'Service',
    writer: 'Isthmus',
    text: 'The RouterLBRule whose Service it is.',
  },
  policyDrops: {
    on: 'Namespace',
    writer: 'you',
    text: '`on`: with `policies.drops: labelled` of the chart, packets that network policies drop become events on its pods.',
  },
  remoteCluster: {
    on: 'RemoteRouteSlice',
    writer: 'Isthmus',
    text: 'The RemoteCluster whose prefixes it holds.',
  },
  bgpNodeState: {
    on: 'BgpRouteSlice',
    writer: 'Isthmus',
    text: 'The node whose learned routes it holds: the first 63 characters of its name.',
  },
  verification: {
    on: 'Namespace, Pod',
    writer: 'Isthmus',
    text: '`isthmus ic verify --pods` made it and deletes it: the run it belongs to, on a pod its role.',
  },
};

const externalIds: Record<keyof typeof externalId, string> = {
  owner:
    'Which plan the row belongs to, `<room>/<feature>/<key>`. A row without it is never touched, except to adopt it by name.',
  key: 'Identity of the row within its owner, in tables that have no name column.',
  vendor: '`kube-ovn`: what tools made for Kube-OVN look for.',
  withheldAddresses:
    "On a node's port: addresses that are the node's, and that it is not served by while something else has them.",
};

function table<Name extends string>(
  names: Readonly<Record<Name, string>>,
  meanings: Readonly<Record<Name, Meaning>>,
): string {
  const rows = (Object.keys(names) as Name[]).map((name) => {
    const { on, writer, text } = meanings[name];
    return `| \`${names[name]}\` | ${on} | ${writer} | ${text} |`;
  });
  return ['| key | on | written by | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

/** docs/reference/annotations.md: a name without a meaning does not compile. */
export function renderAnnotationsPage(): string {
  const ids = (Object.keys(externalId) as (keyof typeof externalId)[]).map(
    (name) => `| \`${externalId[name]}\` | ${externalIds[name]} |`,
  );
  return [
    '<!-- Generated by `npm run generate` from lib/api/names.ts; do not edit. -->\n',
    '# Annotations, labels and external_ids\n\n## Annotations\n\n',
    table(annotation, annotations),
    '\n\n## Labels\n\n',
    table(label, labels),
    '\n\n## external_ids of OVN and OVS rows\n\n| key | meaning |\n|---|---|\n',
    ids.join('\n'),
    '\n',
  ].join('');
}
