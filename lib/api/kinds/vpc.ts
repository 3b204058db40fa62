import { z } from 'zod';
import { addressField, cidrPairField, matchesWhole, pattern } from './address.ts';
import { ageColumn, conditionColumn, conditions, dateTime, labelSelector, rules, type Kind } from './shared.ts';

const names = z.array(z.string().max(253)).max(4096);

const staticRoute = z
  .object({
    policy: z
      .enum(['', 'policySrc', 'policyDst'])
      .describe('Match `cidr` against the source or the destination; policyDst by default.')
      .optional(),
    cidr: z
      .string()
      .max(64)
      .describe('Network the route is for; host bits are cleared, and an address stands for itself alone.')
      .meta(
        rules({
          rule: matchesWhole('self', pattern.ipOrCidr),
          message: 'cidr of a static route must be a CIDR or an IP address',
        }),
      )
      .optional(),
    nextHopIP: addressField('nextHopIP of a static route')
      .describe(
        'Address of the next router, in a subnet or a link of this VPC. Routes that differ in it alone share the load.',
      )
      .optional(),
    routeTable: z
      .string()
      .max(253)
      .describe('Only for packets from subnets of the same `spec.routeTable`; empty for those that name none.')
      .optional(),
    ecmpMode: z
      .enum(['', 'ecmp_symmetric_reply'])
      .describe(
        'Replies leave through the next hop that the request came from; OVN supports this on routers bound to one chassis.',
      )
      .optional(),
    bfdId: z.string().max(253).describe('Refused: this release does not monitor next hops.').optional(),
  })
  .meta(
    rules({
      rule: `!has(self.cidr) || !has(self.nextHopIP) || self.nextHopIP == '' || self.cidr.contains(':') == self.nextHopIP.contains(':')`,
      message: 'cidr and nextHopIP of a static route must be of one family',
    }),
  );

const policyRoute = z
  .object({
    priority: z
      .int()
      .min(0)
      .max(32767)
      .describe('The highest that matches decides. In ovn-cluster, those from 29000 to 31000 are of Isthmus.')
      .optional(),
    match: z
      .string()
      .max(4096)
      .describe('OVN match expression. Of two policies of one priority and match the first is served.')
      .optional(),
    action: z.enum(['allow', 'drop', 'reroute']).optional(),
    nextHopIP: z
      .string()
      .max(1024)
      .describe('Next hops of `reroute`, all of one family, separated by commas; other actions have none.')
      .optional(),
  })
  .meta(
    rules({
      rule: `!has(self.action) || self.action != 'reroute' || has(self.nextHopIP) && self.nextHopIP != ''`,
      message: 'a policy route with action reroute needs nextHopIP',
    }),
  );

const vpcPeering = z.object({
  remoteVpc: z
    .string()
    .max(253)
    .describe('The other Vpc, which must list this one; one link for each pair.')
    .optional(),
  localConnectIP: cidrPairField('localConnectIP')
    .describe('Address of this end with the prefix length of the link, or one of each family separated by a comma.')
    .optional(),
});

const bfdPort = z.object({
  enabled: z.boolean().default(false),
  ip: z.string().max(160).optional(),
  nodeSelector: labelSelector.optional(),
});

export const vpcSpec = z.object({
  defaultSubnet: z
    .string()
    .max(63)
    .describe('First subnet of the namespaces of this VPC; without it those that name the namespace, else the oldest.')
    .optional(),
  namespaces: names
    .describe(
      'Namespaces whose pods live in this VPC; if two Vpcs list one, it stays where it was, otherwise the older Vpc gets it; kube-system stays.',
    )
    .optional(),
  enableExternal: z
    .boolean()
    .describe(
      'Connect the router with the Subnet `external`, if there is one, and with `extraExternalSubnets`. The first of them is the way out of a VPC without a default route.',
    )
    .optional(),
  enableBfd: z
    .boolean()
    .describe(
      'Watch the routers of Subnets outside by BFD. With two such Subnets, packets leave by the second while the router of the first is dead; a router without BFD is used all the same.',
    )
    .optional(),
  extraExternalSubnets: z
    .array(z.string().max(63))
    .max(64)
    .describe('Further Subnets outside, each in a VLAN with a router of the physical network.')
    .optional(),
  staticRoutes: z.array(staticRoute).max(4096).optional(),
  policyRoutes: z.array(policyRoute).max(4096).optional(),
  vpcPeerings: z.array(vpcPeering).max(256).optional(),
  bfdPort: bfdPort.describe('Refused by this release unless `enabled` is false.').optional(),
});

export const vpcStatus = z.object({
  conditions: conditions.optional(),
  standby: z.boolean().describe('The router exists in OVN.').optional(),
  default: z.boolean().describe('It is ovn-cluster.').optional(),
  defaultLogicalSwitch: z.string().describe('Subnet of namespaces that no Subnet names.').optional(),
  router: z.string().describe('Name of the logical router.').optional(),
  tcpLoadBalancer: z
    .string()
    .describe('Load balancer of its switches, as the others; empty where there are none.')
    .optional(),
  udpLoadBalancer: z.string().optional(),
  sctpLoadBalancer: z.string().optional(),
  tcpSessionLoadBalancer: z.string().optional(),
  udpSessionLoadBalancer: z.string().optional(),
  sctpSessionLoadBalancer: z.string().optional(),
  subnets: z.array(z.string()).describe('Subnets whose switch is joined to the router.').optional(),
  namespaces: z.array(z.string()).describe('Those of spec.namespaces whose pods live in this VPC.').optional(),
  vpcPeerings: z.array(z.string()).describe('Vpcs with which a link is in force.').optional(),
  enableExternal: z.boolean().describe('The router has a port in a Subnet outside.').optional(),
  extraExternalSubnets: z
    .array(z.string())
    .describe('Those of spec.extraExternalSubnets in which the router has a port.')
    .optional(),
  externalGateways: z
    .array(
      z.object({
        subnet: z.string().describe('The Subnet outside.'),
        node: z.string().describe('The node that has the port there; absent while no node does.').optional(),
        since: dateTime.describe('Since when this node has it.').optional(),
        nodes: z.array(z.string()).describe('The nodes that may have it, in order.').optional(),
      }),
    )
    .describe('Which nodes have the ports of the router in Subnets outside.')
    .optional(),
  enableBfd: z.boolean().describe('There are BFD sessions with routers outside.').optional(),
  bfdPort: z
    .object({ ip: z.string().optional(), name: z.string().optional(), nodes: z.array(z.string()).optional() })
    .optional(),
});

export type VpcSpec = z.infer<typeof vpcSpec>;
export type VpcStatus = z.infer<typeof vpcStatus>;

export const vpcKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'Vpc',
  plural: 'vpcs',
  singular: 'vpc',
  shortNames: ['vpc'],
  scope: 'Cluster',
  spec: vpcSpec,
  status: vpcStatus,
  hasStatusSubresource: true,
  description: 'A routed network of its own, one logical router.',
  columns: [
    { name: 'EnableExternal', type: 'boolean', path: '.status.enableExternal' },
    { name: 'EnableBfd', type: 'boolean', path: '.status.enableBfd' },
    { name: 'Standby', type: 'boolean', path: '.status.standby' },
    { name: 'Subnets', type: 'string', path: '.status.subnets' },
    { name: 'ExtraExternalSubnets', type: 'string', path: '.status.extraExternalSubnets' },
    { name: 'Namespaces', type: 'string', path: '.spec.namespaces' },
    { name: 'DefaultSubnet', type: 'string', path: '.status.defaultLogicalSwitch' },
    ageColumn,
    conditionColumn('Ready'),
  ],
  rules: [
    {
      rule: 'self.metadata.name.size() <= 63',
      message: 'the name of a vpc may have at most 63 characters: it becomes a label',
    },
  ],
};
