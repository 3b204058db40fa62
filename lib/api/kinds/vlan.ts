import { z } from 'zod';
import { conditionColumn, conditions, type Kind } from './shared.ts';

const vlanId = z.int().min(0).max(4095);

export const vlanSpec = z.object({
  id: vlanId.default(0).describe('VLAN of the physical network; 0: packets without a tag.'),
  provider: z.string().min(1).max(12).describe('The ProviderNetwork.'),
  vlanId: vlanId.describe('Deprecated: `id`.').optional(),
  providerInterfaceName: z.string().max(253).describe('Deprecated: `provider`.').optional(),
});

export const vlanStatus = z.object({
  conditions: conditions.optional(),
  subnets: z.array(z.string()).describe('Subnets in it.').optional(),
  conflict: z
    .boolean()
    .describe('Another Vlan has the same id in the same provider network and had it before: this one is not in force.')
    .optional(),
});

export type VlanSpec = z.infer<typeof vlanSpec>;
export type VlanStatus = z.infer<typeof vlanStatus>;

export const vlanKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'Vlan',
  plural: 'vlans',
  singular: 'vlan',
  shortNames: ['vlan'],
  scope: 'Cluster',
  spec: vlanSpec,
  status: vlanStatus,
  hasStatusSubresource: true,
  description: 'One VLAN of a provider network; a Subnet with `spec.vlan` has its addresses there.',
  columns: [
    { name: 'ID', type: 'string', path: '.spec.id' },
    { name: 'Provider', type: 'string', path: '.spec.provider' },
    { name: 'conflict', type: 'boolean', path: '.status.conflict' },
    conditionColumn('Ready'),
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with a provider' }],
};
