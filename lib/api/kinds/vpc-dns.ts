import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, reasonColumn, rules, type Kind } from './shared.ts';

export const vpcDnsSpec = z
  .object({
    vpc: z
      .string()
      .min(1)
      .max(250)
      .describe('The Vpc whose pods get DNS and the API server; not `ovn-cluster`, whose pods reach both as Services.'),
    subnet: z
      .string()
      .max(253)
      .describe('A Subnet of the Vpc. It is checked and not needed: the addresses in use are link-local.')
      .optional(),
    replicas: z
      .int()
      .min(0)
      .describe('Accepted from manifests of Kube-OVN and not needed: every node serves its own pods.')
      .optional(),
    corefile: z
      .string()
      .max(253)
      .describe(
        'Only `vpc-dns-corefile`: queries go to the DNS Service of the cluster, which has a Corefile of its own.',
      )
      .optional(),
  })
  .meta(rules({ rule: 'self.vpc == oldSelf.vpc', message: 'vpc cannot change: create another VpcDns' }));

export const vpcDnsStatus = z.object({
  conditions: conditions.optional(),
  active: z.boolean().describe('Pods of the Vpc reach DNS and the API server by this object.').optional(),
});

export type VpcDnsSpec = z.infer<typeof vpcDnsSpec>;
export type VpcDnsStatus = z.infer<typeof vpcDnsStatus>;

export const vpcDnsKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'VpcDns',
  plural: 'vpc-dnses',
  singular: 'vpc-dns',
  shortNames: ['vpc-dns'],
  scope: 'Cluster',
  spec: vpcDnsSpec,
  status: vpcDnsStatus,
  hasStatusSubresource: true,
  description: 'DNS of the cluster, and the API server, for pods of a custom VPC.',
  columns: [
    { name: 'Active', type: 'boolean', path: '.status.active' },
    { name: 'Vpc', type: 'string', path: '.spec.vpc' },
    { name: 'Subnet', type: 'string', path: '.spec.subnet' },
    { name: 'Corefile', type: 'string', path: '.spec.corefile' },
    conditionColumn('Ready'),
    reasonColumn(),
    ageColumn,
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with a vpc' }],
};
