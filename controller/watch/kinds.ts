/**
 * All watched kinds: where the API server serves each, and which function parses its raw objects. `settle/cluster.ts` stores the parsed
 * values. To watch another kind: its line here.
 */
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  configMaps,
  endpointSlices,
  iptablesDnats,
  iptablesEips,
  iptablesFips,
  iptablesSnats,
  qosPolicies,
  ipPools,
  ips,
  loadBalancerPools,
  namespaces,
  networkAttachmentDefinitions,
  networkPolicies,
  nodes,
  ovnDnatRules,
  ovnEips,
  ovnFips,
  ovnSnatRules,
  routerLbRules,
  pods,
  providerNetworks,
  securityGroups,
  askedDomains,
  sharedAddresses,
  serviceCidrs,
  services,
  statefulSets,
  subnets,
  switchLbRules,
  gatewayKeySlices,
  transitSwitches,
  vips,
  virtualMachineInstances,
  virtualMachines,
  vlans,
  vpcDnses,
  vpcEgressGateways,
  vpcNatGateways,
  vpcs,
} from '../../lib/kube/resources.ts';
import { externalConfig } from '../../lib/api/names.ts';
import type { RawObject, Reflector, Resource } from '../../lib/kube/types.ts';
import { parseAdminRules, parseBaselineRules, parseClusterRules } from '../../lib/policies/parse-cluster.ts';
import { parseEndpointSlice, parseService } from '../../lib/services/parse.ts';
import { reflectSliced, type SlicedReflectorOptions } from '../../lib/slices/reflect.ts';
import { remotePods, remotePodSets, type RemotePodSets } from '../../lib/slices/remote-pods.ts';
import { joinWithoutSlices, type SlicedView } from '../../lib/slices/slice.ts';
import type { Kinds } from '../model/objects.ts';
import {
  parseIp,
  parseIpPool,
  parseLoadBalancerPool,
  parseSharedAddress,
  parseSwitchLbRule,
  parseVip,
} from './addresses.ts';
import { bgpNodeStateView } from './bgp.ts';
import { parseVpcEgressGateway } from './egress-gateway.ts';
import {
  parseExternalConfig,
  parseOvnDnatRule,
  parseOvnEip,
  parseOvnFip,
  parseOvnSnatRule,
  parseRouterLbRule,
} from './external.ts';
import { clusterPolicy, parseNetworkPolicy } from './network-policies.ts';
import {
  remoteClusterView,
  parseSecurityGroup,
  parseServiceCidr,
  parseSubnet,
  parseKeySlice,
  parseTransitSwitch,
  parseVpc,
} from './networks.ts';
import { parseAskedDomains } from '../../lib/policies/asked-domains.ts';
import {
  parseIptablesDnatRule,
  parseIptablesEip,
  parseIptablesFipRule,
  parseIptablesSnatRule,
  parseQosPolicy,
  parseVpcNatGateway,
} from './nat-gateways.ts';
import { parseProviderNetwork, parseVlan } from './underlay.ts';
import { parseVpcDns } from './vpc-dns.ts';
import {
  parseAttachment,
  parseNamespace,
  parseNode,
  parsePod,
  parseStatefulSet,
  parseVirtualMachine,
} from './workloads.ts';

export interface WatchedKind<T> {
  readonly resource: Resource;
  readonly parse: (raw: RawObject) => T;
  /** The cluster is also served where the API server does not know the kind. */
  readonly isOptional?: boolean;
  /** The only object of the kind that is watched: its reader needs no right to others. */
  readonly only?: { readonly namespace: string; readonly name: string };
  /** Of a kind with slices, which are a part of the value. */
  readonly open?: (options: SlicedReflectorOptions) => Reflector<T>;
}

function withSlices<Entry, Merged, T>(view: SlicedView<Entry, Merged, T>): WatchedKind<T> {
  return {
    resource: view.kind.owners,
    parse: (raw) => joinWithoutSlices(view, raw),
    isOptional: true,
    open: (options) => reflectSliced(view, options),
  };
}

/** The sets of a cluster are all that is read of it here. */
export const remotePodView = {
  kind: remotePods,
  merge: remotePodSets,
  parse: () => (sets: RemotePodSets) => sets,
  // Ten thousand addresses are twenty slices, each of which would be a plan and a transaction with all that came before.
  spacingMs: (addresses: number) => Math.min(addresses / 50, 200),
};

export const kinds: { readonly [K in keyof Kinds]: WatchedKind<Kinds[K]> } = {
  vpcs: { resource: vpcs, parse: parseVpc },
  subnets: { resource: subnets, parse: parseSubnet },
  vlans: { resource: vlans, parse: parseVlan },
  providerNetworks: { resource: providerNetworks, parse: parseProviderNetwork },
  nodes: { resource: nodes, parse: parseNode },
  namespaces: { resource: namespaces, parse: parseNamespace },
  pods: { resource: pods, parse: parsePod },
  ips: { resource: ips, parse: parseIp },
  ipPools: { resource: ipPools, parse: parseIpPool },
  vips: { resource: vips, parse: parseVip },
  securityGroups: { resource: securityGroups, parse: parseSecurityGroup },
  statefulSets: { resource: statefulSets, parse: parseStatefulSet },
  // Kinds of other projects, which may not be installed.
  attachments: { resource: networkAttachmentDefinitions, parse: parseAttachment, isOptional: true },
  virtualMachines: { resource: virtualMachines, parse: parseVirtualMachine, isOptional: true },
  virtualMachineInstances: { resource: virtualMachineInstances, parse: parseVirtualMachine, isOptional: true },
  transitSwitches: { resource: transitSwitches, parse: parseTransitSwitch },
  keySlices: { resource: gatewayKeySlices, parse: parseKeySlice },
  // Only the interconnect needs the kind.
  remoteClusters: withSlices(remoteClusterView),
  // Of policies that name other clusters.
  remotePods: withSlices(remotePodView),
  // Only the speaker needs the kind.
  bgpNodeStates: withSlices(bgpNodeStateView),
  // Served by Kubernetes 1.33 and newer.
  serviceCidrs: { resource: serviceCidrs, parse: parseServiceCidr, isOptional: true },
  services: { resource: services, parse: parseService },
  endpointSlices: { resource: endpointSlices, parse: parseEndpointSlice },
  // An installation that brings the CRDs by itself may not have these yet.
  loadBalancerPools: { resource: loadBalancerPools, parse: parseLoadBalancerPool, isOptional: true },
  askedDomains: { resource: askedDomains, parse: parseAskedDomains, isOptional: true },
  sharedAddresses: { resource: sharedAddresses, parse: parseSharedAddress, isOptional: true },
  switchLbRules: { resource: switchLbRules, parse: parseSwitchLbRule, isOptional: true },
  routerLbRules: { resource: routerLbRules, parse: parseRouterLbRule, isOptional: true },
  vpcDnses: { resource: vpcDnses, parse: parseVpcDns, isOptional: true },
  externalConfigs: { resource: configMaps, parse: parseExternalConfig, only: externalConfig },
  ovnEips: { resource: ovnEips, parse: parseOvnEip, isOptional: true },
  ovnFips: { resource: ovnFips, parse: parseOvnFip, isOptional: true },
  ovnSnatRules: { resource: ovnSnatRules, parse: parseOvnSnatRule, isOptional: true },
  ovnDnatRules: { resource: ovnDnatRules, parse: parseOvnDnatRule, isOptional: true },
  vpcNatGateways: { resource: vpcNatGateways, parse: parseVpcNatGateway, isOptional: true },
  iptablesEips: { resource: iptablesEips, parse: parseIptablesEip, isOptional: true },
  iptablesFips: { resource: iptablesFips, parse: parseIptablesFipRule, isOptional: true },
  iptablesSnats: { resource: iptablesSnats, parse: parseIptablesSnatRule, isOptional: true },
  iptablesDnats: { resource: iptablesDnats, parse: parseIptablesDnatRule, isOptional: true },
  qosPolicies: { resource: qosPolicies, parse: parseQosPolicy, isOptional: true },
  vpcEgressGateways: { resource: vpcEgressGateways, parse: parseVpcEgressGateway, isOptional: true },
  networkPolicies: { resource: networkPolicies, parse: parseNetworkPolicy },
  // Of the Network Policy API, whose CRDs may not be installed.
  clusterNetworkPolicies: {
    resource: clusterNetworkPolicies,
    parse: (raw) => clusterPolicy(raw, parseClusterRules(raw)),
    isOptional: true,
  },
  adminNetworkPolicies: {
    resource: adminNetworkPolicies,
    parse: (raw) => clusterPolicy(raw, parseAdminRules(raw)),
    isOptional: true,
  },
  baselineAdminNetworkPolicies: {
    resource: baselineAdminNetworkPolicies,
    parse: (raw) => clusterPolicy(raw, parseBaselineRules(raw)),
    isOptional: true,
  },
};
