import { z } from 'zod';
import { familyAddressField, macField } from './address.ts';
import { fixedOnceReady, readyColumns } from './external.ts';
import { conditions, dateTime, type Kind } from './shared.ts';

export const ovnEipSpec = z.object({
  externalSubnet: z
    .string()
    .max(63)
    .describe(
      'The Subnet that the address is from: one in a VLAN, with a router of the physical network. `external` by default.',
    )
    .optional(),
  v4Ip: familyAddressField('v4Ip', 4).describe('IPv4 address wanted; any free one by default.').optional(),
  v6Ip: familyAddressField('v6Ip', 6).describe('IPv6 address wanted; any free one by default.').optional(),
  macAddress: macField('macAddress')
    .describe('MAC address wanted, with which a distributed OvnFip answers; derived by default.')
    .optional(),
  type: z
    .enum(['', 'nat', 'lrp', 'lsp'])
    .describe(
      '`nat`, the default: for OvnFips, OvnSnatRules and OvnDnatRules. `lrp`: the address of the router of a VPC, with the name `<vpc>-<subnet>`; Isthmus creates it. `lsp`: refused, no port on a node has an address of the network outside.',
    )
    .optional(),
});

export const ovnEipStatus = z.object({
  conditions: conditions.optional(),
  type: z.string().max(16).describe('`nat` or `lrp`.').optional(),
  nat: z
    .string()
    .max(64)
    .describe('What uses the address, separated by commas: `fip`, `snat`, `dnat`. Empty if nothing does.')
    .optional(),
  ready: z.boolean().describe('It has its addresses.').optional(),
  v4Ip: z.string().max(64).describe('IPv4 address.').optional(),
  v6Ip: z.string().max(64).describe('IPv6 address.').optional(),
  macAddress: z.string().max(64).describe('MAC address.').optional(),
  gatewayPort: z
    .string()
    .max(253)
    .describe(
      'Of type `nat`: the OvnEip of the router port that translates it; absent while no rule of it is in force.',
    )
    .optional(),
  nodes: z
    .array(z.string().max(253))
    .max(16)
    .describe('Of type `lrp`: the nodes that may have the port of the router, in the order of their turn.')
    .optional(),
  holder: z
    .string()
    .max(253)
    .describe('Of type `lrp`: the node that has the port of the router; absent while no node does.')
    .optional(),
  holderSince: dateTime.describe('Since when this node has it.').optional(),
});

export type OvnEipSpec = z.infer<typeof ovnEipSpec>;
export type OvnEipStatus = z.infer<typeof ovnEipStatus>;

export const ovnEipKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'OvnEip',
  plural: 'ovn-eips',
  singular: 'ovn-eip',
  shortNames: ['oeip'],
  scope: 'Cluster',
  spec: ovnEipSpec,
  status: ovnEipStatus,
  hasStatusSubresource: true,
  description: 'An address of a network outside of the cluster, for the rules of a VPC or for its router.',
  columns: [
    { name: 'V4IP', type: 'string', path: '.status.v4Ip' },
    { name: 'V6IP', type: 'string', path: '.status.v6Ip' },
    { name: 'Mac', type: 'string', path: '.status.macAddress' },
    { name: 'Type', type: 'string', path: '.status.type' },
    { name: 'Nat', type: 'string', path: '.status.nat' },
    ...readyColumns,
    { name: 'Holder', type: 'string', path: '.status.holder' },
    { name: 'ExternalSubnet', type: 'string', path: '.spec.externalSubnet' },
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed' }, fixedOnceReady('OvnEip')],
};
