import { z } from 'zod';
import { addressPairField, familyAddressField, macField } from './address.ts';
import type { Kind } from './shared.ts';

/** One address in use, written by the controller: named `<pod>.<namespace>` or `node-<node>`. */
export const ipSpec = z.object({
  podName: z.string().max(253).optional(),
  namespace: z.string().max(63).describe('Empty for a node.').optional(),
  subnet: z.string().max(63).optional(),
  attachSubnets: z.array(z.string()).optional(),
  nodeName: z.string().max(253).optional(),
  ipAddress: addressPairField('ipAddress').describe('`v4`, `v6` or `v4,v6`.').optional(),
  v4IpAddress: familyAddressField('v4IpAddress', 4).optional(),
  v6IpAddress: familyAddressField('v6IpAddress', 6).optional(),
  attachIps: z.array(z.string()).optional(),
  macAddress: macField('macAddress').optional(),
  containerID: z.string().max(253).optional(),
  attachMacs: z.array(z.string()).optional(),
  podType: z
    .string()
    .max(253)
    .describe('Kind of the workload that owns the pod where its address outlives the pod.')
    .optional(),
});

export type IpSpec = z.infer<typeof ipSpec>;

export const ipKind: Kind = {
  group: 'kubeovn.io',
  version: 'v1',
  kind: 'IP',
  plural: 'ips',
  singular: 'ip',
  shortNames: ['ip'],
  scope: 'Cluster',
  spec: ipSpec,
  hasStatusSubresource: false,
  description: 'An address in use and its holder; written by the controller.',
  columns: [
    { name: 'V4IP', type: 'string', path: '.spec.v4IpAddress' },
    { name: 'V6IP', type: 'string', path: '.spec.v6IpAddress' },
    { name: 'Mac', type: 'string', path: '.spec.macAddress' },
    { name: 'Node', type: 'string', path: '.spec.nodeName' },
    { name: 'Subnet', type: 'string', path: '.spec.subnet' },
  ],
};
