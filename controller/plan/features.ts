/**
 * All features of the room. To add one: a folder beside this file, and its line here. Where the database refuses several keys of one
 * status, the status names the first in this order.
 */
import { emptyTiersFeature } from './acl-tier/empty-tiers.ts';
import { clusterPolicyFeature } from './cluster-policy/cluster-policy.ts';
import { exemptionFeature } from './cluster-policy/exemptions.ts';
import { ipFeature } from './address/ip.ts';
import { ipPoolFeature } from './address/ip-pool.ts';
import { bgpNodeFeature } from './bgp/problems.ts';
import { learnedExemptionFeature, learnedRouteFeature } from './bgp/routes.ts';
import type { Feature } from './feature.ts';
import { domainNameFeature } from './domain-name/domain-name.ts';
import { centralizedGatewayFeature } from './gateway/centralized.ts';
import { egressGatewayFeature } from './egress-gateway/egress-gateway.ts';
import { egressMemberFeature } from './egress-gateway/members.ts';
import { eipFeature, iptablesEipFeature } from './external/eip.ts';
import { externalExitFeature } from './external/exit.ts';
import { gatewayPortFeature } from './external/gateway-port.ts';
import { natGatewayFeature } from './external/nat-gateway.ts';
import { qosPolicyFeature } from './external/qos-policy.ts';
import {
  dnatRuleFeature,
  fipFeature,
  iptablesDnatFeature,
  iptablesFipFeature,
  iptablesSnatFeature,
  podFipFeature,
  podSnatFeature,
  snatRuleFeature,
} from './external/rules.ts';
import { distributedGatewayFeature } from './gateway/distributed.ts';
import { loadBalancerAddressFeature } from './load-balancer-pool/address.ts';
import { loadBalancerPoolFeature } from './load-balancer-pool/load-balancer-pool.ts';
import { namespaceFeature } from './namespace/namespace.ts';
import { nodeFeature } from './node/node.ts';
import { northboundOptionsFeature } from './northbound/options.ts';
import { podFeature } from './pod/pod.ts';
import { formerPolicyFeature } from './network-policy/former.ts';
import { isolationFeature } from './network-policy/isolation.ts';
import { networkPolicyFeature } from './network-policy/network-policy.ts';
import { peerFeature } from './network-policy/peer.ts';
import { remotePeerFeature } from './network-policy/remote-peer.ts';
import { selectionFeature } from './network-policy/selection.ts';
import { denyAllFeature } from './security-group/deny-all.ts';
import { passedOnFeature } from './security-group/passed-on.ts';
import { securityGroupFeature } from './security-group/security-group.ts';
import { healthCheckFeature } from './switch-lb-rule/health-check.ts';
import { routerLbRuleFeature, switchLbRuleFeature } from './switch-lb-rule/switch-lb-rule.ts';
import { serviceGroupFeature } from './service/group.ts';
import { chassisVariablesFeature } from './service/places.ts';
import { nodeAddressesFeature } from './node/address-sets.ts';
import { serviceReplyFeature } from './service/reply.ts';
import { serviceFeature } from './service/service.ts';
import { aclFeature } from './subnet/acl.ts';
import { dhcpFeature } from './subnet/dhcp.ts';
import { multicastFeature } from './subnet/multicast.ts';
import { subnetFeature } from './subnet/subnet.ts';
import { subnetVipsFeature } from './subnet/vips.ts';
import { providerNetworkFeature } from './underlay/provider-network.ts';
import { u2oOverlayFeature } from './underlay/overlay-cidrs.ts';
import { u2oExitFeature } from './underlay/exit.ts';
import { u2oFeature } from './underlay/u2o.ts';
import { vlanFeature } from './underlay/vlan.ts';
import { vipFeature } from './vip/vip.ts';
import { loadBalancerFeature, switchLoadBalancerFeature } from './vpc/load-balancers.ts';
import { peeringFeature } from './vpc/peerings.ts';
import { policyRouteFeature } from './vpc/policy-routes.ts';
import { routeTableFeature } from './vpc/route-table.ts';
import { staticRouteFeature } from './vpc/static-routes.ts';
import { vpcFeature } from './vpc/vpc.ts';
import { vpcDnsFeature } from './vpc-dns/vpc-dns.ts';

export const features: readonly Feature[] = [
  northboundOptionsFeature,
  vpcFeature,
  staticRouteFeature,
  policyRouteFeature,
  peeringFeature,
  loadBalancerFeature,
  serviceGroupFeature,
  subnetFeature,
  aclFeature,
  dhcpFeature,
  multicastFeature,
  subnetVipsFeature,
  centralizedGatewayFeature,
  switchLoadBalancerFeature,
  routeTableFeature,
  u2oFeature,
  u2oOverlayFeature,
  u2oExitFeature,
  vlanFeature,
  providerNetworkFeature,
  gatewayPortFeature,
  externalExitFeature,
  eipFeature,
  fipFeature,
  snatRuleFeature,
  dnatRuleFeature,
  natGatewayFeature,
  iptablesEipFeature,
  iptablesFipFeature,
  iptablesSnatFeature,
  iptablesDnatFeature,
  podFipFeature,
  podSnatFeature,
  qosPolicyFeature,
  egressGatewayFeature,
  egressMemberFeature,
  distributedGatewayFeature,
  nodeAddressesFeature,
  nodeFeature,
  learnedRouteFeature,
  learnedExemptionFeature,
  bgpNodeFeature,
  emptyTiersFeature,
  denyAllFeature,
  securityGroupFeature,
  passedOnFeature,
  isolationFeature,
  peerFeature,
  remotePeerFeature,
  selectionFeature,
  domainNameFeature,
  networkPolicyFeature,
  exemptionFeature,
  clusterPolicyFeature,
  formerPolicyFeature,
  podFeature,
  namespaceFeature,
  ipFeature,
  ipPoolFeature,
  vipFeature,
  chassisVariablesFeature,
  serviceFeature,
  serviceReplyFeature,
  switchLbRuleFeature,
  routerLbRuleFeature,
  healthCheckFeature,
  vpcDnsFeature,
  loadBalancerPoolFeature,
  loadBalancerAddressFeature,
];
