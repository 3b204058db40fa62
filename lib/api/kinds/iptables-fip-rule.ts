import { z } from 'zod';
import { familyAddressField } from './address.ts';
import { readyColumns } from './external.ts';
import { eipField, iptablesRuleStatus } from './iptables.ts';
import type { Kind } from './shared.ts';

export const iptablesFipRuleSpec = z.object({
  eip: eipField.describe('The IptablesEIP with the address outside, which no other rule may use.'),
  internalIp: familyAddressField('internalIp', 4).describe('The address inside, in the VPC of the VpcNatGateway.'),
});

export const iptablesFipRuleStatus = z.object({
  ...iptablesRuleStatus,
  internalIp: z.string().max(64).describe('The address inside.').optional(),
});

export type IptablesFipRuleSpec = z.infer<typeof iptablesFipRuleSpec>;
export type IptablesFipRuleStatus = z.infer<typeof iptablesFipRuleStatus>;

export const iptablesFipRuleKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'IptablesFIPRule',
  plural: 'iptables-fip-rules',
  singular: 'iptables-fip-rule',
  shortNames: ['fip'],
  scope: 'Cluster',
  spec: iptablesFipRuleSpec,
  status: iptablesFipRuleStatus,
  hasStatusSubresource: true,
  description: 'An address outside that stands for one address of the VPC of a VpcNatGateway, in both directions.',
  columns: [
    { name: 'Eip', type: 'string', path: '.spec.eip' },
    { name: 'V4ip', type: 'string', path: '.status.v4ip' },
    { name: 'InternalIp', type: 'string', path: '.spec.internalIp' },
    { name: 'V6ip', type: 'string', path: '.status.v6ip', priority: 1 },
    ...readyColumns,
    { name: 'NatGwDp', type: 'string', path: '.status.natGwDp' },
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with eip and internalIp' }],
};
