import { z } from 'zod';
import { familyAddressField } from './address.ts';
import { portField, readyColumns } from './external.ts';
import { eipField, iptablesRuleStatus } from './iptables.ts';
import type { Kind } from './shared.ts';

export const iptablesDnatRuleSpec = z.object({
  eip: eipField,
  externalPort: portField('externalPort').describe('Port of the address outside.'),
  protocol: z.enum(['tcp', 'udp', 'sctp', 'TCP', 'UDP', 'SCTP']),
  internalIp: familyAddressField('internalIp', 4).describe('The address inside, in the VPC of the VpcNatGateway.'),
  internalPort: portField('internalPort').describe('Port of the address inside.'),
  type: z
    .enum(['', 'exclusive', 'share'])
    .describe(
      '`exclusive`, the default: the port leads to one address inside. `share`: rules of this type with the same port share its connections. It cannot be changed.',
    )
    .optional(),
});

export const iptablesDnatRuleStatus = z.object({
  ...iptablesRuleStatus,
  protocol: z.string().max(4).optional(),
  internalIp: z.string().max(64).describe('The address inside.').optional(),
  internalPort: z.string().max(5).optional(),
  externalPort: z.string().max(5).optional(),
});

export type IptablesDnatRuleSpec = z.infer<typeof iptablesDnatRuleSpec>;
export type IptablesDnatRuleStatus = z.infer<typeof iptablesDnatRuleStatus>;

export const iptablesDnatRuleKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'IptablesDnatRule',
  plural: 'iptables-dnat-rules',
  singular: 'iptables-dnat-rule',
  shortNames: ['dnat'],
  scope: 'Cluster',
  spec: iptablesDnatRuleSpec,
  status: iptablesDnatRuleStatus,
  hasStatusSubresource: true,
  description: 'A port of an address outside that leads to ports of addresses of the VPC of a VpcNatGateway.',
  columns: [
    { name: 'Eip', type: 'string', path: '.spec.eip' },
    { name: 'Protocol', type: 'string', path: '.spec.protocol' },
    { name: 'V4ip', type: 'string', path: '.status.v4ip' },
    { name: 'V6ip', type: 'string', path: '.status.v6ip', priority: 1 },
    { name: 'InternalIp', type: 'string', path: '.spec.internalIp' },
    { name: 'ExternalPort', type: 'string', path: '.spec.externalPort' },
    { name: 'InternalPort', type: 'string', path: '.spec.internalPort' },
    { name: 'Type', type: 'string', path: '.spec.type' },
    { name: 'NatGwDp', type: 'string', path: '.status.natGwDp' },
    ...readyColumns,
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with eip, ports, protocol and internalIp' },
    {
      rule: `(self.spec.?type.orValue('') == 'share') == (oldSelf.spec.?type.orValue('') == 'share')`,
      message: 'type of an IptablesDnatRule is fixed: delete the object and create it again',
    },
  ],
};
