import { z } from 'zod';
import { matchesWhole, pattern } from './address.ts';
import { readyColumns } from './external.ts';
import { eipField, iptablesRuleStatus } from './iptables.ts';
import { rules, type Kind } from './shared.ts';

export const iptablesSnatRuleSpec = z.object({
  eip: eipField,
  internalCIDR: z
    .string()
    .max(64)
    .describe('The network or address inside whose packets leave with the address, in the VPC of the VpcNatGateway.')
    .meta(
      rules({
        rule: matchesWhole('self', `(${pattern.ipv4}|${pattern.cidr4})`),
        message: 'internalCIDR must be an IPv4 CIDR or address',
      }),
    ),
});

export const iptablesSnatRuleStatus = z.object({
  ...iptablesRuleStatus,
  internalCIDR: z.string().max(64).describe('The network or address inside.').optional(),
});

export type IptablesSnatRuleSpec = z.infer<typeof iptablesSnatRuleSpec>;
export type IptablesSnatRuleStatus = z.infer<typeof iptablesSnatRuleStatus>;

export const iptablesSnatRuleKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'IptablesSnatRule',
  plural: 'iptables-snat-rules',
  singular: 'iptables-snat-rule',
  shortNames: ['snat'],
  scope: 'Cluster',
  spec: iptablesSnatRuleSpec,
  status: iptablesSnatRuleStatus,
  hasStatusSubresource: true,
  description: 'The address outside with which packets of a network of the VPC of a VpcNatGateway leave.',
  columns: [
    { name: 'EIP', type: 'string', path: '.spec.eip' },
    { name: 'V4ip', type: 'string', path: '.status.v4ip' },
    { name: 'V6ip', type: 'string', path: '.status.v6ip', priority: 1 },
    { name: 'InternalCIDR', type: 'string', path: '.spec.internalCIDR' },
    { name: 'NatGwDp', type: 'string', path: '.status.natGwDp' },
    ...readyColumns,
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with eip and internalCIDR' }],
};
