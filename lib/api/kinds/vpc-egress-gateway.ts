import { z } from 'zod';
import { matchesWhole, pattern } from './address.ts';
import { ageColumn, conditions, labelSelector, reasonColumn, rules, type Kind } from './shared.ts';

/** The most addresses of a list, which bounds the cost of its rules. */
const mostAddresses = 32;

const addressText = z
  .string()
  .max(100)
  .meta(
    rules({
      rule: matchesWhole('self', `${pattern.ip}(,${pattern.ip})?`),
      message: 'an address is needed, or one of each family separated by a comma (IPv6 in lower case)',
    }),
  );

const unused = 'Accepted from manifests of Kube-OVN and not needed: there are no pods.';
const needsPods = 'Refused with `NeedsPods`: OVN itself translates and forwards, there is no pod in the path.';

/** Content of a field that is not read. */
const any = z.record(z.string(), z.unknown());

const policy = z
  .object({
    snat: z
      .boolean()
      .default(false)
      .describe(
        'Packets get the address of the gateway. Otherwise they keep theirs, to which the network outside needs a route.',
      )
      .optional(),
    ipBlocks: z
      .array(
        z
          .string()
          .max(64)
          .meta(rules({ rule: matchesWhole('self', pattern.ipOrCidr), message: 'ipBlocks takes addresses and CIDRs' })),
      )
      .max(128)
      .describe('Addresses and CIDRs of the VPC.')
      .optional(),
    subnets: z.array(z.string().max(63)).max(128).describe('Subnets of the VPC.').optional(),
  })
  .meta(
    rules({
      rule: 'has(self.ipBlocks) && size(self.ipBlocks) > 0 || has(self.subnets) && size(self.subnets) > 0',
      message: 'a policy needs ipBlocks or subnets',
    }),
  );

const selector = z
  .object({
    namespaceSelector: labelSelector.describe('Namespaces by their labels; all by default.').optional(),
    podSelector: labelSelector.describe('Pods by their labels; all by default.').optional(),
  })
  .meta(
    rules({
      rule: 'has(self.namespaceSelector) || has(self.podSelector)',
      message: 'a selector needs namespaceSelector or podSelector; `{}` selects all',
    }),
  );

const nodeTerm = labelSelector.extend({
  matchFields: z
    .array(z.object({ key: z.string(), operator: z.enum(['In', 'NotIn']), values: z.array(z.string()).optional() }))
    .describe('Only the field `metadata.name`.')
    .optional(),
});

function listRules(list: 'internalIPs' | 'externalIPs', pool: 'internalIPPool' | 'externalIPPool') {
  return [
    {
      rule: `!has(self.${list}) || size(self.${list}) == 0 || size(self.${list}) >= self.?replicas.orValue(1)`,
      message: `${list} needs an address for each of the replicas, or none at all`,
    },
    {
      rule: `!has(self.${list}) || size(self.${list}) == 0 || self.?${pool}.orValue('') == ''`,
      message: `${list} and ${pool} exclude each other`,
    },
  ];
}

export const vpcEgressGatewaySpec = z
  .object({
    vpc: z.string().max(63).describe('The VPC whose pods leave by the gateway; `ovn-cluster` by default.').optional(),
    replicas: z
      .int()
      .min(0)
      .max(10)
      .default(1)
      .describe(
        'Ports outside, each with an address of its own and on a node of its own. Connections are distributed among them.',
      )
      .optional(),
    externalSubnet: z
      .string()
      .min(1)
      .max(63)
      .describe('The Subnet that the addresses are from: one in a VLAN, with a router of the physical network.'),
    externalIPs: z
      .array(addressText)
      .max(mostAddresses)
      .describe('Addresses of the ports, in order; any free ones by default.')
      .optional(),
    externalIPPool: z.string().max(253).describe('An IPPool of the Subnet for the addresses.').optional(),
    policies: z.array(policy).max(32).describe('Networks that leave by the gateway.').optional(),
    selectors: z.array(selector).max(32).describe('Pods that leave by the gateway, with its addresses.').optional(),
    nodeSelector: z
      .array(nodeTerm)
      .max(32)
      .describe(
        'Nodes that may have a port: those that one of the terms selects. By default all that have the ProviderNetwork.',
      )
      .optional(),
    podAntiAffinity: z
      .enum(['Required', 'Preferred'])
      .default('Required')
      .describe('`Required`: ports without a node of their own do not exist. `Preferred`: they share nodes.')
      .optional(),
    bfd: z
      .object({
        enabled: z
          .boolean()
          .default(false)
          .describe('Packets are dropped while no port exists. Otherwise they leave as those of other pods do.')
          .optional(),
        minRX: z.int().describe(unused).optional(),
        minTX: z.int().describe(unused).optional(),
        multiplier: z.int().describe(unused).optional(),
      })
      .describe('The failure of a node is noticed in any case, by the tunnels.')
      .optional(),
    trafficPolicy: z
      .enum(['Local', 'Cluster'])
      .default('Cluster')
      .describe('`Local` is served as `Cluster`, and the condition `TrafficPolicyLocal` says so.')
      .optional(),
    prefix: z
      .string()
      .max(63)
      .describe(unused)
      .meta(rules({ rule: 'self == oldSelf', message: 'prefix is fixed' }))
      .optional(),
    internalSubnet: z.string().max(63).describe(unused).optional(),
    internalIPs: z.array(z.string().max(100)).max(mostAddresses).describe(unused).optional(),
    internalIPPool: z.string().max(253).describe(unused).optional(),
    tolerations: z.array(any).max(64).describe(unused).optional(),
    resources: any.describe(unused).optional(),
    image: z.string().max(512).describe(needsPods).optional(),
    bgpConf: z.string().max(253).describe(`${needsPods} Announce addresses by a BgpAdvertisement.`).optional(),
    evpnConf: z.string().max(253).describe(needsPods).optional(),
    observability: any.describe(needsPods).optional(),
    bandwidth: any.describe('Refused with `NotSupported`.').optional(),
  })
  .meta(
    rules(...listRules('internalIPs', 'internalIPPool'), ...listRules('externalIPs', 'externalIPPool'), {
      rule: 'has(self.policies) && size(self.policies) > 0 || has(self.selectors) && size(self.selectors) > 0',
      message: 'policies or selectors are needed: they say whose packets leave by the gateway',
    }),
  );

export const vpcEgressGatewayStatus = z.object({
  conditions: conditions.optional(),
  phase: z.enum(['Pending', 'Processing', 'Completed']).describe('`Completed` once it works.').optional(),
  ready: z.boolean().describe('Its rows are in OVN.').optional(),
  replicas: z.int().describe('Ports that exist.').optional(),
  labelSelector: z.string().max(256).describe('Always empty: there are no pods.').optional(),
  internalIPs: z
    .array(z.string().max(100))
    .max(2)
    .describe('The next hop of the VPC to the gateway, by family.')
    .optional(),
  externalIPs: z
    .array(z.string().max(100))
    .max(mostAddresses)
    .describe('Addresses of the ports, in order, with which packets leave.')
    .optional(),
  workload: z
    .object({
      nodes: z
        .array(z.string().max(253))
        .max(mostAddresses)
        .describe('The first node of each port, in order.')
        .optional(),
    })
    .optional(),
});

export type VpcEgressGatewaySpec = z.infer<typeof vpcEgressGatewaySpec>;
export type VpcEgressGatewayStatus = z.infer<typeof vpcEgressGatewayStatus>;

export const vpcEgressGatewayKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'VpcEgressGateway',
  plural: 'vpc-egress-gateways',
  singular: 'vpc-egress-gateway',
  shortNames: ['vpc-egress-gw', 'veg'],
  scope: 'Namespaced',
  spec: vpcEgressGatewaySpec,
  status: vpcEgressGatewayStatus,
  hasStatusSubresource: true,
  hasScale: true,
  description: 'Fixed addresses outside for networks and selected pods of a VPC.',
  columns: [
    { name: 'Vpc', type: 'string', path: '.spec.vpc' },
    { name: 'Replicas', type: 'integer', path: '.spec.replicas' },
    { name: 'BFD', type: 'boolean', path: '.spec.bfd.enabled' },
    { name: 'External Subnet', type: 'string', path: '.spec.externalSubnet' },
    { name: 'Phase', type: 'string', path: '.status.phase' },
    { name: 'Ready', type: 'boolean', path: '.status.ready' },
    { ...reasonColumn(), priority: 1 },
    { name: 'Internal IPs', type: 'string', path: '.status.internalIPs', priority: 1 },
    { name: 'External IPs', type: 'string', path: '.status.externalIPs', priority: 1 },
    { name: 'Working Nodes', type: 'string', path: '.status.workload.nodes', priority: 1 },
    ageColumn,
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed' }],
};
