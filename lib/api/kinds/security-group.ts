import { z } from 'zod';
import { addressOrCidrField } from './address.ts';
import { ageColumn, conditionColumn, conditions, rules, type Kind, type Rule } from './shared.ts';

const port = z.int().min(1).max(65535);

function portRange(prefix: string): Rule[] {
  const min = prefix === '' ? 'portRangeMin' : `${prefix}PortRangeMin`;
  const max = prefix === '' ? 'portRangeMax' : `${prefix}PortRangeMax`;
  return [
    { rule: `has(self.${min}) == has(self.${max})`, message: `${min} and ${max} go together; give both` },
    {
      rule: `!has(self.${min}) || !has(self.${max}) || self.${min} <= self.${max}`,
      message: `${min} must not be above ${max}`,
    },
    {
      rule: `!has(self.${min}) || has(self.protocol) && self.protocol in ['tcp', 'udp']`,
      message: `${min} and ${max} need protocol tcp or udp`,
    },
  ];
}

function fitsIpVersion(field: string): Rule {
  return {
    rule: `!has(self.${field}) || self.${field} == '' || self.${field}.contains(':') == (self.ipVersion == 'ipv6')`,
    message: `${field} is not of the family in ipVersion`,
  };
}

const rule = z
  .object({
    ipVersion: z.enum(['ipv4', 'ipv6']),
    protocol: z.enum(['all', 'icmp', 'tcp', 'udp']).describe('`all` by default.').optional(),
    priority: z.int().min(1).max(16384).describe('The lowest number wins.'),
    remoteType: z.enum(['address', 'securityGroup']).describe('How the other end is given.'),
    remoteAddress: addressOrCidrField('remoteAddress')
      .describe('Address or CIDR of the other end, with remoteType `address`.')
      .optional(),
    remoteSecurityGroup: z
      .string()
      .max(253)
      .describe(
        'Security group whose members are the other end, with remoteType `securityGroup`. A group that does not exist has no members.',
      )
      .optional(),
    localAddress: addressOrCidrField('localAddress')
      .describe('The rule is for this address or CIDR of the members only.')
      .optional(),
    portRangeMin: port.describe('First destination port; all ports where both bounds are absent.').optional(),
    portRangeMax: port.describe('Last destination port.').optional(),
    sourcePortRangeMin: port.describe('First source port; all ports where both bounds are absent.').optional(),
    sourcePortRangeMax: port.describe('Last source port.').optional(),
    policy: z
      .enum(['allow', 'drop', 'pass'])
      .describe('`pass` continues with the rules of tier 1; without a later tier, it drops.'),
  })
  .meta(
    rules(
      {
        rule: `self.remoteType != 'address' || has(self.remoteAddress) && self.remoteAddress != ''`,
        message: 'a rule with remoteType address needs remoteAddress, such as 10.16.0.0/16 or 0.0.0.0/0',
      },
      {
        rule: `self.remoteType != 'securityGroup' || has(self.remoteSecurityGroup) && self.remoteSecurityGroup != ''`,
        message: 'a rule with remoteType securityGroup needs remoteSecurityGroup',
      },
      fitsIpVersion('remoteAddress'),
      fitsIpVersion('localAddress'),
      ...portRange(''),
      ...portRange('source'),
    ),
  );

const ruleList = z.array(rule).max(512);

export const securityGroupSpec = z.object({
  ingressRules: ruleList.describe('What may reach the members. Without rules nothing may.').optional(),
  egressRules: ruleList.describe('What the members may reach. Without rules nothing.').optional(),
  allowSameGroupTraffic: z.boolean().describe('Members of the group reach each other.').optional(),
  tier: z
    .int()
    .min(0)
    .max(1)
    .describe(
      'Rules of tier 1 apply only to packets that a rule of a group of tier 0 passes on. Tier 1 needs an OVN that has ACL tiers (23.06 and newer).',
    )
    .optional(),
});

export const securityGroupStatus = z.object({
  conditions: conditions.optional(),
  portGroup: z.string().describe('Name of the port group in OVN.').optional(),
  allowSameGroupTraffic: z.boolean().optional(),
  ingressMd5: z.string().optional(),
  egressMd5: z.string().optional(),
  ingressLastSyncSuccess: z.boolean().describe('The ingress rules are in OVN.').optional(),
  egressLastSyncSuccess: z.boolean().describe('The egress rules are in OVN.').optional(),
});

export type SecurityGroupSpec = z.infer<typeof securityGroupSpec>;
export type SecurityGroupStatus = z.infer<typeof securityGroupStatus>;

export const securityGroupKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'SecurityGroup',
  plural: 'security-groups',
  singular: 'security-group',
  shortNames: ['sg'],
  scope: 'Cluster',
  spec: securityGroupSpec,
  status: securityGroupStatus,
  hasStatusSubresource: true,
  description:
    'Rules for pods that name the group in the annotation `ovn.kubernetes.io/security_groups`; traffic that no rule allows is dropped.',
  columns: [
    { name: 'PortGroup', type: 'string', path: '.status.portGroup' },
    { name: 'SameGroup', type: 'boolean', path: '.spec.allowSameGroupTraffic' },
    { name: 'Tier', type: 'integer', path: '.spec.tier' },
    conditionColumn('Ready'),
    ageColumn,
  ],
};
