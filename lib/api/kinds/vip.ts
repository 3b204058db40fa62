import { z } from 'zod';
import { familyAddressField, macField } from './address.ts';
import { conditionColumn, conditions, rules, type Kind, type Rule } from './shared.ts';

const selectorItem = z
  .string()
  .max(330)
  .meta(rules({ rule: `self.matches('^[^:]+:[^:]*$')`, message: 'selector takes labels as `key:value`' }));

export const vipSpec = z
  .object({
    namespace: z.string().max(63).describe('Namespace of the pods that `selector` selects.').optional(),
    subnet: z
      .string()
      .max(63)
      .describe('The subnet the address is taken from. Fixed once set.')
      .meta(
        rules({
          rule: `oldSelf == '' || self == oldSelf`,
          message: 'subnet is fixed once set; delete the vip and create it again in the other subnet',
        }),
      )
      .optional(),
    type: z
      .enum(['', 'switch_lb_vip', 'kube_host_vm_vip'])
      .describe(
        'Empty: an address that pods share, held by one of them at a time. `switch_lb_vip`: address of a load balancer of the switch. `kube_host_vm_vip`: address kept for a virtual machine.',
      )
      .optional(),
    v4ip: familyAddressField('v4ip', 4)
      .describe('IPv4 address wanted; any free one by default. Fixed once assigned.')
      .optional(),
    v6ip: familyAddressField('v6ip', 6)
      .describe('IPv6 address wanted; any free one by default. Fixed once assigned.')
      .optional(),
    macAddress: macField('macAddress')
      .describe('MAC address wanted; derived by default. Fixed once assigned.')
      .optional(),
    selector: z
      .array(selectorItem)
      .max(128)
      .describe('Pods that may hold the address, as labels `key:value` that all have to match.')
      .optional(),
    attachSubnets: z.array(z.string().max(63)).max(64).optional(),
  })
  .meta(
    rules({
      rule: `has(self.subnet) && self.subnet != ''`,
      message: 'subnet is needed: the address of a vip is taken from it',
    }),
  );

/** Written with the object: the kind has no subresource, as with Kube-OVN. */
export const vipStatus = z.object({
  conditions: conditions.optional(),
  type: z.string().optional(),
  v4ip: z.string().max(64).optional(),
  v6ip: z.string().max(64).optional(),
  mac: z.string().max(64).optional(),
  selector: z.array(z.string()).optional(),
});

export type VipSpec = z.infer<typeof vipSpec>;
export type VipStatus = z.infer<typeof vipStatus>;

/** Leaving the field out is no change of it: a plain re-apply of the user's manifest must pass. */
function fixedOnceAssigned(field: 'v4ip' | 'v6ip' | 'macAddress', reported: 'v4ip' | 'v6ip' | 'mac'): Rule {
  const valueOf = (subject: string, path: string): string => `${subject}.?${path}.orValue('')`;
  const now = valueOf('self', `spec.?${field}`);
  const assigned = valueOf('oldSelf', `status.?${reported}`);
  return {
    rule: `${now} in ['', ${valueOf('oldSelf', `spec.?${field}`)}, ${assigned}] || ${assigned} == ''`,
    message: `${field} is fixed once assigned; delete the vip and create it again`,
  };
}

export const vipKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'Vip',
  plural: 'vips',
  singular: 'vip',
  shortNames: ['vip'],
  scope: 'Cluster',
  spec: vipSpec,
  status: vipStatus,
  hasStatusSubresource: false,
  description: 'An address of a subnet that belongs to no pod: shared by several, or reserved.',
  columns: [
    { name: 'Namespace', type: 'string', path: '.spec.namespace' },
    { name: 'V4IP', type: 'string', path: '.status.v4ip' },
    { name: 'V6IP', type: 'string', path: '.status.v6ip' },
    { name: 'Mac', type: 'string', path: '.status.mac' },
    { name: 'Subnet', type: 'string', path: '.spec.subnet' },
    { name: 'Type', type: 'string', path: '.status.type' },
    conditionColumn('Ready'),
  ],
  rules: [
    { rule: 'has(self.spec)', message: 'spec is needed, with a subnet' },
    fixedOnceAssigned('v4ip', 'v4ip'),
    fixedOnceAssigned('v6ip', 'v6ip'),
    fixedOnceAssigned('macAddress', 'mac'),
  ],
};
