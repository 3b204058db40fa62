import { describe, it } from 'node:test';
import { z } from 'zod';
import { bgpNodeStateKind } from '../../lib/api/kinds/bgp-node-state.ts';
import { bgpRoute } from '../../lib/api/kinds/bgp-route-slice.ts';
import { iptablesDnatRuleKind } from '../../lib/api/kinds/iptables-dnat-rule.ts';
import { iptablesEipKind } from '../../lib/api/kinds/iptables-eip.ts';
import { iptablesFipRuleKind } from '../../lib/api/kinds/iptables-fip-rule.ts';
import { iptablesSnatRuleKind } from '../../lib/api/kinds/iptables-snat-rule.ts';
import { vpcNatGatewayKind } from '../../lib/api/kinds/vpc-nat-gateway.ts';
import { ipKind } from '../../lib/api/kinds/ip.ts';
import { ipPoolKind } from '../../lib/api/kinds/ippool.ts';
import { loadBalancerPoolKind } from '../../lib/api/kinds/load-balancer-pool.ts';
import { ovnDnatRuleKind } from '../../lib/api/kinds/ovn-dnat-rule.ts';
import { ovnEipKind } from '../../lib/api/kinds/ovn-eip.ts';
import { ovnFipKind } from '../../lib/api/kinds/ovn-fip.ts';
import { ovnSnatRuleKind } from '../../lib/api/kinds/ovn-snat-rule.ts';
import { qosPolicyKind } from '../../lib/api/kinds/qos-policy.ts';
import { providerNetworkKind } from '../../lib/api/kinds/provider-network.ts';
import { remoteClusterKind } from '../../lib/api/kinds/remote-cluster.ts';
import { remotePodView } from './kinds.ts';
import { remotePod } from '../../lib/api/kinds/remote-pod-slice.ts';
import { remoteRoute } from '../../lib/api/kinds/remote-route-slice.ts';
import { routerLbRuleKind } from '../../lib/api/kinds/router-lb-rule.ts';
import { securityGroupKind } from '../../lib/api/kinds/security-group.ts';
import { askedDomainsKind } from '../../lib/api/kinds/asked-domains.ts';
import { sharedAddressKind } from '../../lib/api/kinds/shared-address.ts';
import { subnetKind } from '../../lib/api/kinds/subnet.ts';
import { switchLbRuleKind } from '../../lib/api/kinds/switch-lb-rule.ts';
import { gatewayKeySliceKind } from '../../lib/api/kinds/gateway-key-slice.ts';
import { transitSwitchKind } from '../../lib/api/kinds/transit-switch.ts';
import { vipKind } from '../../lib/api/kinds/vip.ts';
import { vlanKind } from '../../lib/api/kinds/vlan.ts';
import { vpcEgressGatewayKind } from '../../lib/api/kinds/vpc-egress-gateway.ts';
import { vpcDnsKind } from '../../lib/api/kinds/vpc-dns.ts';
import { vpcKind } from '../../lib/api/kinds/vpc.ts';
import { viewParser } from '../../lib/slices/testing.ts';
import {
  adminPolicySchemas,
  attachmentSchemas,
  clusterPolicySchemas,
  endpointSliceSchemas,
  networkPolicySchemas,
  nodeSchemas,
  podSchemas,
  serviceSchemas,
} from '../../lib/testing-core-schemas.ts';
import { fuzzParser, type ObjectSchemas, type Parser } from '../../lib/testing-fuzz.ts';
import type { Kinds } from '../model/objects.ts';
import { bgpNodeStateView } from './bgp.ts';
import { kinds } from './kinds.ts';
import { remoteClusterView } from './networks.ts';

/** What the API server knows of an object of each kind. */
const schemas: Readonly<Record<keyof Kinds, ObjectSchemas>> = {
  vpcs: vpcKind,
  subnets: subnetKind,
  vlans: vlanKind,
  providerNetworks: providerNetworkKind,
  nodes: nodeSchemas,
  namespaces: {},
  pods: podSchemas,
  ips: ipKind,
  ipPools: ipPoolKind,
  vips: vipKind,
  securityGroups: securityGroupKind,
  statefulSets: {
    spec: z.object({ replicas: z.int().optional(), ordinals: z.object({ start: z.int() }).optional() }),
  },
  attachments: attachmentSchemas,
  virtualMachines: {},
  virtualMachineInstances: {},
  transitSwitches: transitSwitchKind,
  keySlices: { cidr: gatewayKeySliceKind.data?.shape['cidr'] as z.ZodType },
  remoteClusters: { ...remoteClusterKind, routes: z.array(remoteRoute) },
  remotePods: { ...remoteClusterKind, routes: z.array(remotePod) },
  bgpNodeStates: { ...bgpNodeStateKind, routes: z.array(bgpRoute) },
  serviceCidrs: { spec: z.object({ cidrs: z.array(z.string()) }) },
  services: serviceSchemas,
  endpointSlices: endpointSliceSchemas,
  loadBalancerPools: loadBalancerPoolKind,
  askedDomains: askedDomainsKind,
  sharedAddresses: sharedAddressKind,
  switchLbRules: switchLbRuleKind,
  routerLbRules: routerLbRuleKind,
  vpcDnses: vpcDnsKind,
  externalConfigs: { data: z.record(z.string(), z.string()) },
  ovnEips: ovnEipKind,
  ovnFips: ovnFipKind,
  ovnSnatRules: ovnSnatRuleKind,
  ovnDnatRules: ovnDnatRuleKind,
  vpcNatGateways: vpcNatGatewayKind,
  iptablesEips: iptablesEipKind,
  iptablesFips: iptablesFipRuleKind,
  iptablesSnats: iptablesSnatRuleKind,
  iptablesDnats: iptablesDnatRuleKind,
  qosPolicies: qosPolicyKind,
  vpcEgressGateways: vpcEgressGatewayKind,
  networkPolicies: networkPolicySchemas,
  clusterNetworkPolicies: clusterPolicySchemas,
  adminNetworkPolicies: adminPolicySchemas,
  baselineAdminNetworkPolicies: adminPolicySchemas,
};
const views: Readonly<Partial<Record<keyof Kinds, Parser>>> = {
  remoteClusters: viewParser(remoteClusterView),
  remotePods: viewParser(remotePodView),
  bgpNodeStates: viewParser(bgpNodeStateView),
};

describe('parsers accept any content of an object', () => {
  for (const kind of Object.keys(schemas) as (keyof Kinds)[])
    it(kinds[kind].resource.kind, () => fuzzParser(views[kind] ?? kinds[kind].parse, schemas[kind]));
});
