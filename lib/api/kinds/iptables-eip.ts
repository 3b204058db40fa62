import { z } from 'zod';
import { familyAddressField, macField } from './address.ts';
import { readyColumns } from './external.ts';
import { natGwDp, redo } from './iptables.ts';
import { conditions, type Kind, type Rule } from './shared.ts';

export const iptablesEipSpec = z.object({
  natGwDp: natGwDp.describe('The VpcNatGateway that has the address. It cannot be changed.').optional(),
  externalSubnet: z
    .string()
    .max(63)
    .describe(
      'The Subnet that the address is from, one of the `externalSubnets` of the VpcNatGateway. `ovn-vpc-external-network` by default.',
    )
    .optional(),
  v4ip: familyAddressField('v4ip', 4).describe('Address wanted; any free one by default.').optional(),
  v6ip: familyAddressField('v6ip', 6)
    .describe(
      'Not served, and named in the condition Validated: the kinds of a VpcNatGateway have IPv4 addresses. Use an OvnEip for IPv6.',
    )
    .optional(),
  macAddress: macField('macAddress')
    .describe('Has no effect: the router of the VPC answers with its own MAC address.')
    .optional(),
  namespace: z.string().max(63).describe('Of the pod of the gateway. Has no effect, as there is none.').optional(),
  qosPolicy: z
    .string()
    .max(253)
    .describe('The QoSPolicy, of binding type EIP, that limits traffic of the address.')
    .optional(),
});

export const iptablesEipStatus = z.object({
  conditions: conditions.optional(),
  ready: z.boolean().describe('It has its address.').optional(),
  ip: z.string().max(64).describe('The address.').optional(),
  redo,
  nat: z
    .string()
    .max(64)
    .describe('What uses the address, separated by commas: `fip`, `snat`, `dnat`. Empty if nothing does.')
    .optional(),
  gatewayPort: z
    .string()
    .max(253)
    .describe('The OvnEip of the router port that translates it; absent while no rule of it is in force.')
    .optional(),
  qosPolicy: z.string().max(253).describe('The QoSPolicy in force.').optional(),
});

export type IptablesEipSpec = z.infer<typeof iptablesEipSpec>;
export type IptablesEipStatus = z.infer<typeof iptablesEipStatus>;

function fixed(field: string): Rule {
  return {
    rule: `!oldSelf.?status.?ready.orValue(false) || oldSelf.spec.?${field}.orValue('') == '' || self.spec.?${field}.orValue('') in [oldSelf.spec.?${field}.orValue('')]`,
    message: `${field} of an IptablesEIP is fixed once it is ready: delete the object and create it again`,
  };
}

export const iptablesEipKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'IptablesEIP',
  plural: 'iptables-eips',
  singular: 'iptables-eip',
  shortNames: ['eip'],
  scope: 'Cluster',
  spec: iptablesEipSpec,
  status: iptablesEipStatus,
  hasStatusSubresource: true,
  description: 'An address of a network outside of the cluster, for the rules of a VpcNatGateway.',
  columns: [
    { name: 'Namespace', type: 'string', path: '.spec.namespace', priority: 1 },
    { name: 'ExternalSubnet', type: 'string', path: '.spec.externalSubnet' },
    { name: 'IP', type: 'string', path: '.status.ip' },
    { name: 'Mac', type: 'string', path: '.spec.macAddress', priority: 1 },
    { name: 'Nat', type: 'string', path: '.status.nat' },
    { name: 'NatGwDp', type: 'string', path: '.spec.natGwDp' },
    ...readyColumns,
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with natGwDp' },
    ...['natGwDp', 'externalSubnet', 'v4ip'].map(fixed),
  ],
};
