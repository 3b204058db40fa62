import { z } from 'zod';
import { ageColumn, dateTime, type Kind } from './shared.ts';

/** The addresses of one Service in all clusters that export it, as this cluster knows them. */
export const sharedAddressSpec = z.object({
  service: z
    .object({ namespace: z.string().max(63), name: z.string().max(63) })
    .describe('The Service of this cluster.'),
  pool: z.string().max(253).describe('The LoadBalancerPool that the Service names.'),
  addresses: z
    .array(z.string().max(45))
    .max(2)
    .describe('One of each IP family at most; empty while the clusters have agreed on none.'),
  since: dateTime
    .optional()
    .describe('When they were agreed on. Of two Services that claim one address, the older agreement counts.'),
  clusters: z.array(z.string().max(63)).max(1024).describe('Other clusters in which the Service has these addresses.'),
  reason: z
    .string()
    .max(64)
    .optional()
    .describe('Why an address is missing; the Service has the same in its condition.'),
  message: z.string().max(2048).optional(),
});

export type SharedAddressSpec = z.infer<typeof sharedAddressSpec>;

export const sharedAddressKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'SharedAddress',
  plural: 'sharedaddresses',
  singular: 'sharedaddress',
  shortNames: [],
  scope: 'Cluster',
  spec: sharedAddressSpec,
  hasStatusSubresource: false,
  description:
    'The addresses that an exported Service of type LoadBalancer has in all clusters that share its LoadBalancerPool, for the controller to act on; written by the agent of the interconnect.',
  columns: [
    { name: 'Addresses', type: 'string', path: '.spec.addresses' },
    { name: 'Pool', type: 'string', path: '.spec.pool' },
    { name: 'Clusters', type: 'string', path: '.spec.clusters' },
    { name: 'Reason', type: 'string', path: '.spec.reason' },
    ageColumn,
  ],
};
