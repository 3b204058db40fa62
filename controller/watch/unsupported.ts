/** What users of Kube-OVN may write and this release refuses, so that nothing is silently left undone. */

export const unsupportedSubnetFields: readonly string[] = [
  'private',
  'allowSubnets',
  'vlan',
  'externalEgressGateway',
  'policyRoutingPriority',
  'policyRoutingTableID',
  'vips',
  'logicalGateway',
  'enableDHCP',
  'dhcpV4Options',
  'dhcpV6Options',
  'enableIPv6RA',
  'ipv6RAConfigs',
  'acls',
  'allowEWTraffic',
  'natOutgoingPolicyRules',
  'u2oInterconnection',
  'u2oInterconnectionIP',
  'u2oFeatures',
  'enableEcmp',
  'enableMulticastSnoop',
  'enableExternalLBAddress',
  'routeTable',
  'nodeNetwork',
];

export const unsupportedVpcFields: readonly string[] = [
  'defaultSubnet',
  'namespaces',
  'enableExternal',
  'enableBfd',
  'extraExternalSubnets',
  'staticRoutes',
  'policyRoutes',
  'vpcPeerings',
  'bfdPort',
];

const prefix = 'ovn.kubernetes.io/';

export const unsupportedPodAnnotations: readonly string[] = [
  'ip_pool',
  'security_groups',
  'port_vips',
  'aaps',
  'vip',
  'routes',
  'dhcp-v4-options',
  'dhcp-v6-options',
  'layer2_forward',
  'north_gateway',
  'eip',
  'snat',
  'activation_strategy',
].map((key) => prefix + key);
