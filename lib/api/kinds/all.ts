import { askedDomainsKind } from './asked-domains.ts';
import { bgpAdvertisementKind } from './bgp-advertisement.ts';
import { bgpInstanceKind } from './bgp-instance.ts';
import { bgpNodeStateKind } from './bgp-node-state.ts';
import { bgpPeerKind } from './bgp-peer.ts';
import { bgpRouteSliceKind } from './bgp-route-slice.ts';
import { gatewayKeySliceKind } from './gateway-key-slice.ts';
import { hubMemberKind } from './hub-member.ts';
import { interconnectGatewayKind } from './interconnect-gateway.ts';
import { interconnectKind } from './interconnect.ts';
import { iptablesDnatRuleKind } from './iptables-dnat-rule.ts';
import { iptablesEipKind } from './iptables-eip.ts';
import { iptablesFipRuleKind } from './iptables-fip-rule.ts';
import { iptablesSnatRuleKind } from './iptables-snat-rule.ts';
import { ipKind } from './ip.ts';
import { ipPoolKind } from './ippool.ts';
import { loadBalancerPoolKind } from './load-balancer-pool.ts';
import { ovnDnatRuleKind } from './ovn-dnat-rule.ts';
import { ovnEipKind } from './ovn-eip.ts';
import { ovnFipKind } from './ovn-fip.ts';
import { ovnSnatRuleKind } from './ovn-snat-rule.ts';
import { providerNetworkKind } from './provider-network.ts';
import { qosPolicyKind } from './qos-policy.ts';
import { remoteClusterKind } from './remote-cluster.ts';
import { remotePodSliceKind } from './remote-pod-slice.ts';
import { remoteRouteSliceKind } from './remote-route-slice.ts';
import { routePolicyKind } from './route-policy.ts';
import { routerLbRuleKind } from './router-lb-rule.ts';
import { securityGroupKind } from './security-group.ts';
import { sharedAddressKind } from './shared-address.ts';
import type { Kind } from './shared.ts';
import { subnetKind } from './subnet.ts';
import { switchLbRuleKind } from './switch-lb-rule.ts';
import { transitSwitchKind } from './transit-switch.ts';
import { vipKind } from './vip.ts';
import { vlanKind } from './vlan.ts';
import { vpcEgressGatewayKind } from './vpc-egress-gateway.ts';
import { vpcDnsKind } from './vpc-dns.ts';
import { vpcNatGatewayKind } from './vpc-nat-gateway.ts';
import { vpcKind } from './vpc.ts';

/** Every kind Isthmus serves, in the order the documentation shows them. */
export const allKinds: readonly Kind[] = [
  vpcKind,
  subnetKind,
  ipKind,
  ipPoolKind,
  vipKind,
  switchLbRuleKind,
  loadBalancerPoolKind,
  sharedAddressKind,
  askedDomainsKind,
  vpcDnsKind,
  securityGroupKind,
  providerNetworkKind,
  vlanKind,
  ovnEipKind,
  ovnFipKind,
  ovnSnatRuleKind,
  ovnDnatRuleKind,
  routerLbRuleKind,
  vpcNatGatewayKind,
  iptablesEipKind,
  iptablesFipRuleKind,
  iptablesSnatRuleKind,
  iptablesDnatRuleKind,
  qosPolicyKind,
  vpcEgressGatewayKind,
  interconnectKind,
  interconnectGatewayKind,
  gatewayKeySliceKind,
  transitSwitchKind,
  remoteClusterKind,
  remoteRouteSliceKind,
  remotePodSliceKind,
  routePolicyKind,
  hubMemberKind,
  bgpInstanceKind,
  bgpPeerKind,
  bgpAdvertisementKind,
  bgpNodeStateKind,
  bgpRouteSliceKind,
];
