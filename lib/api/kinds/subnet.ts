import { z } from 'zod';
import { addressPairField, cidrListField, cidrField, matchesWhole, pattern } from './address.ts';
import { conditions, labelSelector, rules, type Kind } from './shared.ts';

const int32 = z.int32();
const names = z.array(z.string().max(253)).max(4096);

const cidrBlock = z
  .string()
  .max(100)
  .describe('IPv4 CIDR, IPv6 CIDR, or one of each separated by a comma. Host bits are cleared.')
  .meta(
    rules(
      {
        rule: `self == '' || self.split(',').all(c, ${matchesWhole('c', pattern.cidr)})`,
        message:
          'cidrBlock must be an IPv4 CIDR, an IPv6 CIDR (lower case), or one of each separated by a comma, such as 10.16.0.0/16 or 10.16.0.0/16,fd00:10:16::/64',
      },
      {
        rule: `self.split(',').filter(c, c.contains(':')).size() <= 1 && self.split(',').filter(c, !c.contains(':')).size() <= 1`,
        message: 'cidrBlock takes at most one IPv4 and one IPv6 CIDR',
      },
      {
        rule: `!self.split(',').exists(c, ${matchesWhole('c', `${pattern.ipv4}/3[12]`)} || ${matchesWhole('c', `${pattern.ipv6}/12[78]`)})`,
        message: 'cidrBlock is too small: the prefix may be at most /30 for IPv4 and /126 for IPv6',
      },
      {
        rule: `!self.split(',').exists(c, c.matches(r'^(0|127|169[.]254|22[4-9]|23[0-9])[.]') || c.matches(r'^(fe[89ab][0-9a-f]|ff[0-9a-f]{2}):'))`,
        message: 'cidrBlock must not be a loopback, link-local, multicast or unspecified range',
      },
    ),
  );

// One address pattern, repeated: written out twice it would cost more than an array of this size may.
const excludeIp = z
  .string()
  .max(130)
  .meta(
    rules({
      rule: `self.matches(r'^(${pattern.ip}([.][.]|$)){1,2}$') && !self.endsWith('.')`,
      message: 'excludeIps takes addresses and ranges, such as 10.16.0.5 or 10.16.0.10..10.16.0.20',
    }),
  );

const natOutgoingPolicyRule = z.object({
  match: z
    .object({
      srcIPs: cidrListField().optional(),
      dstIPs: cidrListField().optional(),
    })
    .optional(),
  action: z.enum(['nat', 'forward']).optional(),
});

const acl = z.object({
  direction: z.enum(['from-lport', 'to-lport']).optional(),
  priority: z.int().min(0).max(32767).optional(),
  match: z.string().optional(),
  action: z.enum(['allow', 'allow-related', 'allow-stateless', 'drop', 'reject', 'pass']).optional(),
});

const addressing = {
  cidrBlock: cidrBlock.optional(),
  gateway: addressPairField('gateway')
    .describe('Router address in the CIDR; the first host address of each family by default.')
    .optional(),
  excludeIps: z
    .array(excludeIp)
    .max(2048)
    .describe('Addresses and ranges `a..b` that pods get only by asking for one.')
    .optional(),
  protocol: z.enum(['', 'IPv4', 'IPv6', 'Dual', 'Mac']).describe('Computed from cidrBlock.').optional(),
  vips: z.array(z.string().max(64)).max(1024).describe('Addresses set aside for virtual ports.').optional(),
};

const binding = {
  default: z.boolean().describe('Pods of namespaces that are bound to no subnet come here.').optional(),
  vpc: z.string().max(63).describe('The VPC, `ovn-cluster` by default. Fixed once set.').optional(),
  namespaces: names.describe('Namespaces whose pods get addresses of this subnet.').optional(),
  namespaceSelectors: z.array(labelSelector).max(64).describe('Namespaces by label, beside `namespaces`.').optional(),
  provider: z
    .string()
    .max(253)
    .describe('`ovn`, or `<attachment>.<namespace>.ovn` for a secondary network.')
    .optional(),
  vlan: z.string().max(253).describe('Vlan object of an underlay subnet.').optional(),
};

const gatewayFields = {
  gatewayType: z
    .enum(['', 'distributed', 'centralized'])
    .describe('Where traffic leaves the overlay: on the node of the pod, or on `gatewayNode`.')
    .optional(),
  gatewayNode: z.string().max(8192).describe('Comma list of nodes of a centralized gateway.').optional(),
  gatewayNodeSelectors: z.array(labelSelector).max(64).describe('Nodes of a centralized gateway by label.').optional(),
  natOutgoing: z.boolean().describe('Masquerade traffic to addresses outside the cluster.').optional(),
  natOutgoingPolicyRules: z
    .array(natOutgoingPolicyRule)
    .max(256)
    .describe('Exceptions to natOutgoing, first match wins.')
    .optional(),
  externalEgressGateway: addressPairField('externalEgressGateway')
    .describe('Next hop outside the cluster instead of NAT.')
    .optional(),
  policyRoutingPriority: int32.describe('Priority of the rule that leads to externalEgressGateway.').optional(),
  policyRoutingTableID: int32.describe('Routing table that leads to externalEgressGateway.').optional(),
  logicalGateway: z
    .boolean()
    .describe('The gateway is on the logical router although the subnet is an underlay one.')
    .optional(),
  disableGatewayCheck: z.boolean().describe('Pods start without the gateway answering.').optional(),
  routeTable: z.string().max(253).describe('Routing table of the VPC this subnet uses.').optional(),
  enableEcmp: z.boolean().describe('Use all nodes of a centralized gateway at once.').optional(),
};

const isolation = {
  private: z.boolean().describe('Only the subnet itself and allowSubnets may reach it.').optional(),
  allowSubnets: z.array(cidrField('allowSubnets')).max(1024).describe('CIDRs that reach a private subnet.').optional(),
  allowEWTraffic: z.boolean().describe('Traffic inside the subnet passes `acls`.').optional(),
  acls: z.array(acl).max(1024).describe('OVN ACLs of the switch.').optional(),
  disableInterConnection: z.boolean().describe('Keep the subnet out of the routes told to other clusters.').optional(),
};

const services = {
  mtu: int32.min(0).max(65535).describe('MTU of the pods; 0 or absent is what the tunnel leaves.').optional(),
  enableDHCP: z.boolean().optional(),
  dhcpV4Options: z.string().max(4096).optional(),
  dhcpV6Options: z.string().max(4096).optional(),
  enableIPv6RA: z.boolean().optional(),
  ipv6RAConfigs: z.string().max(4096).optional(),
  enableLb: z.boolean().describe('Load balancers of the VPC apply on this switch.').optional(),
  enableMulticastSnoop: z.boolean().optional(),
  enableExternalLBAddress: z
    .boolean()
    .describe('Services of type LoadBalancer may take addresses of this subnet.')
    .optional(),
};

const underlay = {
  u2oInterconnection: z.boolean().describe('Join an underlay subnet with the overlay.').optional(),
  u2oInterconnectionIP: addressPairField('u2oInterconnectionIP').optional(),
  u2oFeatures: z.object({ overlayOnlyRouting: z.boolean().optional() }).optional(),
  nodeNetwork: z.string().max(253).optional(),
};

/** `''` and absent mean the default VPC, so that defaulting by the controller and plain re-applies are no change. */
function vpcOf(subject: string): string {
  return `(!has(${subject}.vpc) || ${subject}.vpc == '' ? 'ovn-cluster' : ${subject}.vpc)`;
}

export const subnetSpec = z
  .object({ ...binding, ...addressing, ...gatewayFields, ...isolation, ...services, ...underlay })
  .meta(
    rules(
      {
        rule: `${vpcOf('self')} == ${vpcOf('oldSelf')}`,
        message: 'vpc is fixed once set; delete the subnet and make it anew in the other VPC',
      },
      {
        rule: `has(self.cidrBlock) && self.cidrBlock != '' || has(self.vlan) && self.vlan != '' || has(self.protocol) && self.protocol == 'Mac'`,
        message: 'cidrBlock is needed (a subnet without one needs a vlan)',
      },
      {
        rule: `!has(self.mtu) || self.mtu == 0 || self.mtu >= 1280 || !has(self.cidrBlock) || !self.cidrBlock.contains(':')`,
        message: 'mtu must be at least 1280 when cidrBlock has an IPv6 CIDR',
      },
      {
        rule: `!has(self.mtu) || self.mtu == 0 || self.mtu >= 68`,
        message: 'mtu must be at least 68',
      },
      {
        rule: `!has(self.gateway) || self.gateway == '' || !has(self.cidrBlock) || self.gateway.split(',').all(g, self.cidrBlock.split(',').exists(c, c.contains(':') == g.contains(':')))`,
        message: 'gateway has an address of a family that cidrBlock has not',
      },
      {
        rule: `!has(self.externalEgressGateway) || self.externalEgressGateway == '' || !has(self.natOutgoing) || !self.natOutgoing`,
        message: 'externalEgressGateway and natOutgoing exclude each other',
      },
      {
        rule: `!has(self.logicalGateway) || !self.logicalGateway || !has(self.u2oInterconnection) || !self.u2oInterconnection`,
        message: 'logicalGateway and u2oInterconnection exclude each other',
      },
    ),
  );

const familyStatus = {
  v4availableIPs: z.number().optional(),
  v4availableIPrange: z.string().optional(),
  v4usingIPs: z.number().optional(),
  v4usingIPrange: z.string().optional(),
  v6availableIPs: z.number().optional(),
  v6availableIPrange: z.string().optional(),
  v6usingIPs: z.number().optional(),
  v6usingIPrange: z.string().optional(),
};

export const subnetStatus = z.object({
  conditions: conditions.optional(),
  ...familyStatus,
  activateGateway: z.string().optional(),
  dhcpV4OptionsUUID: z.string().optional(),
  dhcpV6OptionsUUID: z.string().optional(),
  u2oInterconnectionIP: z.string().optional(),
  u2oInterconnectionMAC: z.string().optional(),
  u2oInterconnectionVPC: z.string().optional(),
  mcastQuerierIP: z.string().optional(),
  mcastQuerierMAC: z.string().optional(),
  natOutgoingPolicyRules: z
    .array(
      z.object({
        ruleID: z.string().optional(),
        match: z.object({ srcIPs: z.string().optional(), dstIPs: z.string().optional() }).optional(),
        action: z.string().optional(),
      }),
    )
    .optional(),
});

export type SubnetSpec = z.infer<typeof subnetSpec>;
export type SubnetStatus = z.infer<typeof subnetStatus>;

export const subnetKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'Subnet',
  plural: 'subnets',
  singular: 'subnet',
  shortNames: ['subnet'],
  scope: 'Cluster',
  spec: subnetSpec,
  status: subnetStatus,
  hasStatusSubresource: true,
  description: 'A range of addresses for pods, one logical switch, bound to namespaces.',
  columns: [
    { name: 'Provider', type: 'string', path: '.spec.provider' },
    { name: 'Vpc', type: 'string', path: '.spec.vpc' },
    { name: 'Vlan', type: 'string', path: '.spec.vlan' },
    { name: 'Protocol', type: 'string', path: '.spec.protocol' },
    { name: 'CIDR', type: 'string', path: '.spec.cidrBlock' },
    { name: 'Private', type: 'boolean', path: '.spec.private' },
    { name: 'NAT', type: 'boolean', path: '.spec.natOutgoing' },
    { name: 'Default', type: 'boolean', path: '.spec.default' },
    { name: 'GatewayType', type: 'string', path: '.spec.gatewayType' },
    { name: 'V4Used', type: 'number', path: '.status.v4usingIPs' },
    { name: 'V4Available', type: 'number', path: '.status.v4availableIPs' },
    { name: 'V6Used', type: 'number', path: '.status.v6usingIPs' },
    { name: 'V6Available', type: 'number', path: '.status.v6availableIPs' },
    { name: 'ExcludeIPs', type: 'string', path: '.spec.excludeIps' },
    { name: 'U2OInterconnectionIP', type: 'string', path: '.status.u2oInterconnectionIP' },
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with a cidrBlock' },
    {
      rule: 'self.metadata.name.size() <= 63',
      message: 'the name of a subnet may have at most 63 characters: it becomes a label',
    },
    {
      rule: '!has(self.spec) || !has(self.spec.vpc) || self.spec.vpc != self.metadata.name',
      message: 'a subnet must not have the name of its vpc: both name things in the same network',
    },
  ],
};
