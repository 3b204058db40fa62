import { z } from 'zod';
import { matchesWhole, pattern } from './address.ts';
import { fixedOnceReady, objectName, ovnEipField, readyColumns, ruleStatus, vpcField } from './external.ts';
import { rules, type Kind } from './shared.ts';

function sourceField(field: string, family: 4 | 6) {
  const [ip, cidr] = family === 4 ? [pattern.ipv4, pattern.cidr4] : [pattern.ipv6, pattern.cidr6];
  return z
    .string()
    .max(64)
    .describe(`IPv${family} network or address inside, if vpcSubnet and ipName are empty.`)
    .meta(
      rules({
        rule: `self == '' || ${matchesWhole('self', `(${ip}|${cidr})`)}`,
        message: `${field} must be an IPv${family} CIDR or address${family === 6 ? ' (lower case)' : ''}`,
      }),
    );
}

export const ovnSnatRuleSpec = z
  .object({
    ovnEip: ovnEipField,
    vpcSubnet: z.string().max(63).describe('The Subnet whose pods leave with the address outside.').optional(),
    ipName: objectName
      .describe('The IP object of the only pod that leaves with the address, `<pod>.<namespace>`.')
      .optional(),
    vpc: vpcField.optional(),
    v4IpCidr: sourceField('v4IpCidr', 4).optional(),
    v6IpCidr: sourceField('v6IpCidr', 6).optional(),
  })
  .meta(
    rules({
      rule: `self.?vpcSubnet.orValue('') != '' || self.?ipName.orValue('') != '' || self.?vpc.orValue('') != '' && (self.?v4IpCidr.orValue('') != '' || self.?v6IpCidr.orValue('') != '')`,
      message:
        'vpcSubnet or ipName is needed, or vpc with v4IpCidr or v6IpCidr: they say whose packets leave with the address',
    }),
  );

export const ovnSnatRuleStatus = z.object({
  ...ruleStatus,
  v4IpCidr: z.string().max(64).describe('IPv4 network or address inside.').optional(),
  v6IpCidr: z.string().max(64).describe('IPv6 network or address inside.').optional(),
});

export type OvnSnatRuleSpec = z.infer<typeof ovnSnatRuleSpec>;
export type OvnSnatRuleStatus = z.infer<typeof ovnSnatRuleStatus>;

export const ovnSnatRuleKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'OvnSnatRule',
  plural: 'ovn-snat-rules',
  singular: 'ovn-snat-rule',
  shortNames: ['osnat'],
  scope: 'Cluster',
  spec: ovnSnatRuleSpec,
  status: ovnSnatRuleStatus,
  hasStatusSubresource: true,
  description: 'The address outside with which packets of a network or address of a VPC leave.',
  columns: [
    { name: 'Vpc', type: 'string', path: '.status.vpc' },
    { name: 'V4Eip', type: 'string', path: '.status.v4Eip' },
    { name: 'V6Eip', type: 'string', path: '.status.v6Eip' },
    { name: 'V4IpCidr', type: 'string', path: '.status.v4IpCidr' },
    { name: 'V6IpCidr', type: 'string', path: '.status.v6IpCidr' },
    ...readyColumns,
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with ovnEip' }, fixedOnceReady('OvnSnatRule')],
};
