/** The fields of a Subnet's spec, by what they are about. What holds between them is in subnet.ts. */
import { z } from 'zod';
import { addressField, addressPairField, cidrListField, cidrField, matchesWhole, pattern } from './address.ts';
import { labelSelector, rules } from './shared.ts';

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

const natOutgoingMatch = z
  .object({
    srcIPs: cidrListField('srcIPs')
      .describe('Sources, CIDRs and addresses of one family separated by commas.')
      .optional(),
    dstIPs: cidrListField('dstIPs').describe('Destinations, CIDRs and addresses of the same family.').optional(),
  })
  .meta(
    rules({
      rule: `!(has(self.srcIPs) && self.srcIPs.contains('.') || has(self.dstIPs) && self.dstIPs.contains('.')) || !(has(self.srcIPs) && self.srcIPs.contains(':') || has(self.dstIPs) && self.dstIPs.contains(':'))`,
      message: 'srcIPs and dstIPs of a rule of natOutgoingPolicyRules must be of one family; make a rule for each',
    }),
  );

const natOutgoingPolicyRule = z.object({
  match: natOutgoingMatch.describe('Traffic the rule is for; all that leaves the subnet by default.').optional(),
  action: z.enum(['nat', 'forward']).describe('`nat` masquerades, `forward` keeps the source address.').optional(),
});

const acl = z.object({
  direction: z
    .enum(['from-lport', 'to-lport'])
    .describe('`from-lport`: what pods send; `to-lport`: what reaches them.')
    .optional(),
  priority: z.int().min(0).max(32767).describe('The highest number wins.').optional(),
  match: z.string().describe('OVN match expression, such as `ip4.src == 10.16.0.0/16 && tcp.dst == 80`.').optional(),
  action: z
    .enum(['allow', 'allow-related', 'allow-stateless', 'drop', 'reject', 'pass'])
    .describe('`pass` needs OVN 23.06 or newer.')
    .optional(),
});

export const addressing = {
  cidrBlock: cidrBlock.optional(),
  gateway: addressPairField('gateway')
    .describe(
      'Router address in the CIDR; the first host address of each family by default. A former router address answers until the pods that were created before are gone.',
    )
    .optional(),
  excludeIps: z
    .array(excludeIp)
    .max(2048)
    .describe('Addresses and ranges `a..b` that pods get only on request.')
    .optional(),
  protocol: z
    .enum(['', 'IPv4', 'IPv6', 'Dual', 'Mac'])
    .describe('Computed from cidrBlock; another value is corrected, with an event.')
    .optional(),
  vips: z
    .array(addressField('vips'))
    .max(1024)
    .describe(
      'Addresses of the subnet that pods share, such as those of keepalived: each gets a virtual port, which is bound to a pod whose annotation `ovn.kubernetes.io/port_vips` names it. They are not allocated to pods.',
    )
    .optional(),
};

export const binding = {
  default: z
    .boolean()
    .describe(
      'Pods of namespaces that no subnet names get addresses here. True for `ovn-default` alone; set to false elsewhere.',
    )
    .optional(),
  vpc: z.string().max(63).describe('The VPC, `ovn-cluster` by default. Fixed once set.').optional(),
  namespaces: names.describe('Namespaces whose pods get addresses of this subnet.').optional(),
  namespaceSelectors: z.array(labelSelector).max(64).describe('Namespaces by label, beside `namespaces`.').optional(),
  provider: z
    .string()
    .max(253)
    .describe('`ovn`, or `<attachment>.<namespace>.ovn` for a secondary network; fixed once set.')
    .optional(),
  vlan: z.string().max(253).describe('Vlan object of an underlay subnet.').optional(),
};

export const gatewayFields = {
  gatewayType: z
    .enum(['', 'distributed', 'centralized'])
    .describe('Where traffic leaves the overlay: on the node of the pod, or on `gatewayNode`.')
    .optional(),
  gatewayNode: z
    .string()
    .max(8192)
    .describe(
      'Nodes of a centralized gateway, separated by commas; the first that is ready is active, unless enableEcmp. With natOutgoing, `node:address` gives traffic that address of the node as its source.',
    )
    .optional(),
  gatewayNodeSelectors: z
    .array(labelSelector)
    .max(64)
    .describe('Nodes of a centralized gateway by label, where gatewayNode is empty.')
    .optional(),
  natOutgoing: z.boolean().describe('Masquerade traffic to addresses outside the cluster.').optional(),
  natOutgoingPolicyRules: z
    .array(natOutgoingPolicyRule)
    .max(256)
    .describe('Exceptions to natOutgoing, first match wins.')
    .optional(),
  externalEgressGateway: addressPairField('externalEgressGateway')
    .describe(
      'Next hop outside the cluster, one per family, where traffic goes unchanged instead of being masqueraded. Needs policyRoutingPriority and policyRoutingTableID.',
    )
    .optional(),
  policyRoutingPriority: int32
    .describe('Priority of the `ip rule` on the gateway node that leads to externalEgressGateway.')
    .optional(),
  policyRoutingTableID: int32
    .describe('Routing table on the gateway node that leads to externalEgressGateway; one per subnet.')
    .optional(),
  logicalGateway: z
    .boolean()
    .describe('The logical router is the gateway, although the subnet is an underlay subnet.')
    .optional(),
  disableGatewayCheck: z.boolean().describe('Pods start even if the gateway does not answer.').optional(),
  routeTable: z.string().max(253).describe('Routing table of the VPC this subnet uses.').optional(),
  enableEcmp: z.boolean().describe('Use all ready nodes of a centralized gateway at once.').optional(),
};

export const isolation = {
  private: z
    .boolean()
    .describe(
      'Only the subnet itself, the nodes and allowSubnets may reach it, and it opens connections to itself and allowSubnets only.',
    )
    .optional(),
  allowSubnets: z
    .array(cidrField('allowSubnets'))
    .max(1024)
    .describe('CIDRs that reach a private subnet and are reached from it.')
    .optional(),
  allowEWTraffic: z
    .boolean()
    .describe(
      'With `acls`: traffic inside the subnet is allowed, unless one of them with a priority above 1900 matches.',
    )
    .optional(),
  acls: z
    .array(acl)
    .max(1024)
    .describe(
      'OVN ACLs of the switch. One that OVN would not take is named in the condition Validated; the others apply.',
    )
    .optional(),
  disableInterConnection: z
    .boolean()
    .describe('Keep the subnet out of the routes offered to other clusters.')
    .optional(),
};

export const services = {
  mtu: int32
    .min(0)
    .max(65535)
    .describe('MTU of the pods; 0 or absent: the MTU of the node without the tunnel header.')
    .optional(),
  enableDHCP: z.boolean().describe('OVN answers DHCP requests of the pods, which virtual machines send.').optional(),
  dhcpV4Options: z
    .string()
    .max(4096)
    .describe(
      'OVN DHCPv4 options, `name=value` separated by commas, lists as `{a;b}`. Defaults: lease_time=3600, router, server_id=169.254.0.254, server_mac and mtu (that of the subnet, else 1400, in a VLAN that of the physical network).',
    )
    .optional(),
  dhcpV6Options: z
    .string()
    .max(4096)
    .describe('OVN DHCPv6 options, `name=value` separated by commas, lists as `{a;b}`; server_id is added.')
    .optional(),
  enableIPv6RA: z.boolean().describe('The router of the subnet sends IPv6 router advertisements.').optional(),
  ipv6RAConfigs: z
    .string()
    .max(4096)
    .describe(
      'OVN ipv6_ra_configs, `name=value` separated by commas; without it address_mode=dhcpv6_stateful,max_interval=30,min_interval=5,send_periodic=true.',
    )
    .optional(),
  enableLb: z
    .boolean()
    .describe('Load balancers of the VPC apply on this switch; set to true where absent, unless it is `join`.')
    .optional(),
  enableMulticastSnoop: z
    .boolean()
    .describe('Multicast goes only to ports that joined its group; a querier of the subnet finds them.')
    .optional(),
  enableExternalLBAddress: z
    .boolean()
    .describe('Services of type LoadBalancer may take addresses of this subnet.')
    .optional(),
};

export const underlay = {
  u2oInterconnection: z.boolean().describe('Join an underlay subnet with the overlay.').optional(),
  u2oInterconnectionIP: addressPairField('u2oInterconnectionIP')
    .describe('Address of the overlay in the underlay subnet; any free one by default.')
    .optional(),
  u2oFeatures: z
    .object({ overlayOnlyRouting: z.boolean().describe('Pods reach the overlay only through OVN.').optional() })
    .optional(),
  nodeNetwork: z.string().max(253).describe('Network of the nodes whose tunnels carry this subnet.').optional(),
};
