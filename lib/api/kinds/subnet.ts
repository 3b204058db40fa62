import { z } from 'zod';
import { matchesWhole } from './address.ts';
import { conditionColumn, conditions, rules, type Kind, type Rule } from './shared.ts';
import { addressing, binding, gatewayFields, isolation, services, underlay } from './subnet-fields.ts';

/** `''` and absent mean the default VPC, so that defaulting by the controller and plain re-applies are no change. */
function vpcOf(subject: string): string {
  return `(!has(${subject}.vpc) || ${subject}.vpc == '' ? 'ovn-cluster' : ${subject}.vpc)`;
}

function providerOf(subject: string): string {
  return `(!has(${subject}.provider) || ${subject}.provider == '' ? 'ovn' : ${subject}.provider)`;
}

/** RFC 1123 names of an attachment and its namespace. */
const servedProvider = '(ovn|[a-z0-9]([-a-z0-9]*[a-z0-9])?[.][a-z0-9]([-a-z0-9]*[a-z0-9])?[.]ovn)';

function hasFamiliesOfCidr(field: 'gateway' | 'externalEgressGateway'): Rule {
  return {
    rule: `!has(self.${field}) || self.${field} == '' || !has(self.cidrBlock) || self.${field}.split(',').all(g, self.cidrBlock.split(',').exists(c, c.contains(':') == g.contains(':')))`,
    message: `${field} has an address of a family that cidrBlock does not have`,
  };
}

export const subnetSpec = z
  .object({ ...binding, ...addressing, ...gatewayFields, ...isolation, ...services, ...underlay })
  .meta(
    rules(
      {
        rule: `${vpcOf('self')} == ${vpcOf('oldSelf')}`,
        message: 'vpc is fixed once set; delete the subnet and create it again in the other VPC',
      },
      {
        // A provider that was never served may be replaced.
        rule: `${providerOf('self')} == ${providerOf('oldSelf')} || !${matchesWhole(providerOf('oldSelf'), servedProvider)}`,
        message:
          'provider is fixed once set, because it identifies the interfaces of pods; delete the subnet and create it again',
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
      hasFamiliesOfCidr('gateway'),
      hasFamiliesOfCidr('externalEgressGateway'),
      {
        rule: `!has(self.externalEgressGateway) || self.externalEgressGateway == '' || has(self.policyRoutingPriority) && self.policyRoutingPriority > 0 && has(self.policyRoutingTableID) && self.policyRoutingTableID > 0`,
        message:
          'externalEgressGateway needs policyRoutingPriority and policyRoutingTableID above 0, such as 1000 and 1000',
      },
      {
        rule: `!has(self.policyRoutingTableID) || !(self.policyRoutingTableID in [253, 254, 255])`,
        message: 'policyRoutingTableID must not be 253, 254 or 255: these are the tables of the node itself',
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
  v4availableIPs: z.number().describe('Free IPv4 addresses; those of IPPools among them.').optional(),
  v4availableIPrange: z.string().describe('The same as ranges `a-b`, separated by commas.').optional(),
  v4usingIPs: z.number().describe('IPv4 addresses in use.').optional(),
  v4usingIPrange: z.string().describe('The same as ranges.').optional(),
  v6availableIPs: z
    .number()
    .describe('Free IPv6 addresses; above 2^53 rounded, as numbers in JSON are. The range is exact.')
    .optional(),
  v6availableIPrange: z.string().describe('The same as ranges `a-b`, separated by commas.').optional(),
  v6usingIPs: z.number().describe('IPv6 addresses in use.').optional(),
  v6usingIPrange: z.string().describe('The same as ranges.').optional(),
};

export const subnetStatus = z.object({
  conditions: conditions.optional(),
  ...familyStatus,
  activateGateway: z.string().describe('Node, or nodes, through which a centralized gateway leads now.').optional(),
  dhcpV4OptionsUUID: z.string().describe('Row of DHCP_Options in the northbound database.').optional(),
  dhcpV6OptionsUUID: z.string().describe('The same for DHCPv6.').optional(),
  u2oInterconnectionIP: z.string().optional(),
  u2oInterconnectionMAC: z.string().optional(),
  u2oInterconnectionVPC: z.string().optional(),
  mcastQuerierIP: z.string().describe('Address from which the switch queries members of multicast groups.').optional(),
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
    conditionColumn('Ready'),
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with a cidrBlock' },
    {
      rule: 'self.metadata.name.size() <= 63',
      message: 'the name of a subnet may have at most 63 characters: it becomes a label',
    },
    {
      rule: '!has(self.spec) || !has(self.spec.vpc) || self.spec.vpc != self.metadata.name',
      message:
        'a subnet must not have the name of its vpc, because both ends of the port between them would have the same name',
      fieldPath: '.spec.vpc',
    },
  ],
};
