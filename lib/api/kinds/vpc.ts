import { z } from 'zod';
import { addressField, cidrField, matchesWhole, pattern } from './address.ts';
import { ageColumn, conditionColumn, conditions, labelSelector, rules, type Kind } from './shared.ts';

const names = z.array(z.string().max(253)).max(4096);

const staticRoute = z.object({
  policy: z
    .enum(['', 'policySrc', 'policyDst'])
    .describe('Match `cidr` against the source or the destination; policyDst by default.')
    .optional(),
  cidr: z
    .string()
    .max(64)
    .meta(
      rules({
        rule: matchesWhole('self', pattern.ipOrCidr),
        message: 'cidr of a static route must be a CIDR or an IP address',
      }),
    )
    .optional(),
  nextHopIP: addressField('nextHopIP of a static route').optional(),
  routeTable: z.string().max(253).optional(),
  ecmpMode: z.enum(['', 'ecmp_symmetric_reply']).optional(),
  bfdId: z.string().max(253).optional(),
});

const policyRoute = z
  .object({
    priority: z.int().min(0).max(32767).optional(),
    match: z.string().max(4096).describe('OVN match expression.').optional(),
    action: z.enum(['allow', 'drop', 'reroute']).optional(),
    nextHopIP: z.string().max(1024).describe('Next hops of `reroute`, separated by commas.').optional(),
  })
  .meta(
    rules({
      rule: `!has(self.action) || self.action != 'reroute' || has(self.nextHopIP) && self.nextHopIP != ''`,
      message: 'a policy route with action reroute needs nextHopIP',
    }),
  );

const vpcPeering = z.object({
  remoteVpc: z.string().max(253).optional(),
  localConnectIP: cidrField('localConnectIP')
    .describe('Address of this end with the prefix length of the link.')
    .optional(),
});

const bfdPort = z.object({
  enabled: z.boolean().default(false),
  ip: z.string().max(160).optional(),
  nodeSelector: labelSelector.optional(),
});

export const vpcSpec = z.object({
  defaultSubnet: z.string().max(63).describe('Subnet of the namespaces of this VPC that are bound to none.').optional(),
  namespaces: names.describe('Namespaces that belong to this VPC.').optional(),
  enableExternal: z.boolean().describe('Connect the router to the external subnet.').optional(),
  enableBfd: z.boolean().optional(),
  extraExternalSubnets: z.array(z.string().max(63)).max(64).optional(),
  staticRoutes: z.array(staticRoute).max(4096).optional(),
  policyRoutes: z.array(policyRoute).max(4096).optional(),
  vpcPeerings: z.array(vpcPeering).max(256).optional(),
  bfdPort: bfdPort.optional(),
});

export const vpcStatus = z.object({
  conditions: conditions.optional(),
  standby: z.boolean().describe('The router exists in OVN.').optional(),
  default: z.boolean().optional(),
  defaultLogicalSwitch: z.string().optional(),
  router: z.string().describe('Name of the logical router.').optional(),
  tcpLoadBalancer: z.string().optional(),
  udpLoadBalancer: z.string().optional(),
  sctpLoadBalancer: z.string().optional(),
  tcpSessionLoadBalancer: z.string().optional(),
  udpSessionLoadBalancer: z.string().optional(),
  sctpSessionLoadBalancer: z.string().optional(),
  subnets: z.array(z.string()).optional(),
  vpcPeerings: z.array(z.string()).optional(),
  enableExternal: z.boolean().optional(),
  extraExternalSubnets: z.array(z.string()).optional(),
  enableBfd: z.boolean().optional(),
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
