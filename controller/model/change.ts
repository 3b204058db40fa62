import type { Kinds, Policy } from './objects.ts';
import type { EgressGateway } from './egress-gateway.ts';
import type {
  Binding,
  ExternalRule,
  GatewayHolder,
  GatewayPort,
  UpstreamState,
  Verdict,
  PoolVerdict,
  ServiceVerdict,
  VlanVerdict,
} from './settled.ts';

interface Changed<K, T> {
  readonly kind: K;
  /** The object's name, or `namespace/name`. */
  readonly name: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export type ObjectChange = { [K in keyof Kinds]: Changed<K, Kinds[K]> }[keyof Kinds];

/** A change that plans depend on: of an object, or of a value settled from objects. */
export type Change =
  | ObjectChange
  /** The verdict on a Subnet. */
  | Changed<'verdicts', Verdict>
  /** The VPC and the subnets of a namespace. */
  | Changed<'bindings', Binding>
  /** The verdict on a Vlan. */
  | Changed<'vlanVerdicts', VlanVerdict>
  /** The verdict on an IPPool. */
  | Changed<'poolVerdicts', PoolVerdict>
  /** The verdict on a Service. */
  | Changed<'serviceVerdicts', ServiceVerdict>
  /** The verdict on a LoadBalancerPool, or the counts of its addresses. */
  | { readonly kind: 'loadBalancerUsage'; readonly name: string }
  /** The addresses of a Service of type LoadBalancer, or why it has none; by `namespace/name`. */
  | { readonly kind: 'loadBalancers'; readonly name: string }
  /** The nodes that a Subnet's centralized gateway uses, or its problems. */
  | { readonly kind: 'gateways'; readonly name: string }
  /** The route for a prefix that nodes learned by BGP, or its problem; by the prefix. */
  | { readonly kind: 'learned'; readonly name: string }
  /** The port of a router in a Subnet outside, by `<vpc>/<subnet>`. */
  | Changed<'gatewayPorts', GatewayPort>
  /** Which chassis has the port of a router in a Subnet outside, by the name of the port; empty when the holders become known. */
  | Changed<'gatewayHolders', GatewayHolder>
  /** The state of the BFD session with a router outside, as `upstreamKey` names it. */
  | Changed<'upstreams', UpstreamState>
  /** The verdict on a rule that uses an address outside, by `<store>/<name>`. */
  | Changed<'externalRules', ExternalRule>
  /** The verdict on a VpcEgressGateway, by `namespace/name`. */
  | Changed<'egressGateways', EgressGateway>
  /** The ports of an object, by its key (`pod/default/web`, `node/n1`): addresses it got, lost or waits for. */
  | { readonly kind: 'ports'; readonly name: string }
  /** A port that lost its addresses, by its name. */
  | { readonly kind: 'freed'; readonly name: string }
  /** The state of a health check, as `monitorKey` names it; empty when the states become known. */
  | { readonly kind: 'monitors'; readonly name: string }
  /** Whether a node has tunnels to all others, by the node. */
  | { readonly kind: 'tunnels'; readonly name: string }
  /** The rows of a former Kube-OVN's policies; the name is empty. */
  | { readonly kind: 'formerPolicies'; readonly name: string }
  /** A policy in force. */
  | Changed<'policies', Policy>
  /** The VPCs of the ports in the namespaces of a policy, by the policy. */
  | { readonly kind: 'policyVpcs'; readonly name: string }
  /** The place of a policy of the whole cluster among those of its tier. */
  | { readonly kind: 'policyPlaces'; readonly name: string }
  /** Whether a policy selects any pod. */
  | { readonly kind: 'policySelections'; readonly name: string }
  /** The VPCs in which policies name a peer, by the peer. */
  | { readonly kind: 'policyPeers'; readonly name: string }
  /** The numbers that pods give a named port, as `namedPortKey` names it. */
  | { readonly kind: 'namedPorts'; readonly name: string }
  /** The addresses of a domain name, or whether policies name it. */
  | { readonly kind: 'domains'; readonly name: string }
  /** What is wrong with a domain name. */
  | { readonly kind: 'domainProblems'; readonly name: string }
  /** The addresses of a Subnet in use. */
  | { readonly kind: 'usage'; readonly name: string };
