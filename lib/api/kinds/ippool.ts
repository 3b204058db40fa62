import { z } from 'zod';
import { pattern } from './address.ts';
import { conditionColumn, conditions, rules, type Kind } from './shared.ts';

// One pattern, repeated: an address, a range and a CIDR written out would cost more than an array of this size may.
const poolItem = z
  .string()
  .max(130)
  .meta(
    rules({
      rule: `self.matches(r'^(${pattern.ipOrCidr}([.][.]|$)){1,2}$') && !self.endsWith('.') && !(self.contains('/') && self.contains('..'))`,
      message:
        'ips takes addresses, ranges and CIDRs, such as 10.16.0.5, 10.16.0.10..10.16.0.20 or 10.16.1.0/28 (IPv6 in lower case)',
    }),
  );

export const ipPoolSpec = z.object({
  subnet: z
    .string()
    .min(1)
    .max(63)
    .describe('The subnet whose addresses these are. Fixed.')
    .meta(
      rules({
        rule: 'self == oldSelf',
        message: 'subnet is fixed; delete the pool and create it again in the other subnet',
      }),
    ),
  ips: z
    .array(poolItem)
    .min(1)
    .max(2048)
    .describe('Addresses, ranges `a..b` and CIDRs inside the subnet. No address may be in two pools.'),
  namespaces: z
    .array(z.string().max(63))
    .max(4096)
    .describe('Namespaces whose pods get addresses of this pool.')
    .optional(),
  enableAddressSet: z
    .boolean()
    .default(false)
    .describe(
      'Keep an OVN address set with the addresses of the pool, for use in matches: the name of the pool with `.` for `-`.',
    ),
});

export const ipPoolStatus = z.object({
  conditions: conditions.optional(),
  v4AvailableIPs: z.number().optional(),
  v4AvailableIPRange: z.string().optional(),
  v4UsingIPs: z.number().optional(),
  v4UsingIPRange: z.string().optional(),
  v6AvailableIPs: z.number().optional(),
  v6AvailableIPRange: z.string().optional(),
  v6UsingIPs: z.number().optional(),
  v6UsingIPRange: z.string().optional(),
});

export type IpPoolSpec = z.infer<typeof ipPoolSpec>;
export type IpPoolStatus = z.infer<typeof ipPoolStatus>;

export const ipPoolKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'IPPool',
  plural: 'ippools',
  singular: 'ippool',
  shortNames: ['ippool'],
  scope: 'Cluster',
  spec: ipPoolSpec,
  status: ipPoolStatus,
  hasStatusSubresource: true,
  description:
    'Reserved addresses of a subnet: for the namespaces that it names, and for pods that request it with the annotation `ovn.kubernetes.io/ip_pool`.',
  columns: [
    { name: 'Subnet', type: 'string', path: '.spec.subnet' },
    { name: 'enableAddressSet', type: 'boolean', path: '.spec.enableAddressSet' },
    { name: 'IPs', type: 'string', path: '.spec.ips' },
    { name: 'V4Used', type: 'number', path: '.status.v4UsingIPs' },
    { name: 'V4Available', type: 'number', path: '.status.v4AvailableIPs' },
    { name: 'V6Used', type: 'number', path: '.status.v6UsingIPs' },
    { name: 'V6Available', type: 'number', path: '.status.v6AvailableIPs' },
    conditionColumn('Ready'),
  ],
};
