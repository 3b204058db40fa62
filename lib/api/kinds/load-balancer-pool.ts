import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, labelSelector, reasonColumn, rules, type Kind } from './shared.ts';

const addresses = z
  .string()
  .min(2)
  .max(100)
  .meta(
    rules({
      rule: `self.matches('^[0-9a-fA-F:.]*[0-9a-fA-F:](/[0-9]{1,3}| *(-|[.][.]) *[0-9a-fA-F:.]*[0-9a-fA-F:])?$')`,
      message: 'addresses takes a CIDR, an address, or a range lowest..highest or lowest-highest',
    }),
  );

const shared = z.object({
  clusters: z
    .array(
      z
        .string()
        .min(1)
        .max(40)
        .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/),
    )
    .max(64)
    .default([])
    .describe('Clusters that share the pool, by their names in the hub; all that have the pool when empty.'),
});

/** The rules are about fields together. */
const poolRules = rules(
  {
    rule: '!has(self.shared) || self.autoAssign == false',
    message:
      'a pool with shared needs autoAssign: false: Services name it in the annotation isthmus.network/load-balancer-pool',
    fieldPath: '.autoAssign',
  },
  {
    rule: 'has(self.shared) == has(oldSelf.shared)',
    message: 'shared cannot be set or removed later: create another pool',
  },
);

const poolFields = z.object({
  addresses: z
    .array(addresses)
    .min(1)
    .max(256)
    .describe(
      'Addresses that Services may get: CIDRs, single addresses and ranges `lowest..highest` or `lowest-highest`, of both families. All addresses of a CIDR are allocated, including the first and the last one.',
    ),
  serviceSelector: labelSelector
    .describe('Services that may have addresses of the pool, by their labels; all by default.')
    .optional(),
  namespaceSelector: labelSelector
    .describe('Namespaces whose Services may have addresses of the pool, by their labels; all by default.')
    .optional(),
  autoAssign: z
    .boolean()
    .default(true)
    .describe(
      'Whether Services get its addresses without a request. If false, a Service must name the pool or the address in an annotation.',
    ),
  shared: shared
    .optional()
    .describe(
      'The pool exists in several clusters: a Service that names it and is exported has the same address in each of them. Its addresses must be equal in all.',
    ),
});

export const loadBalancerPoolSpec = poolFields.meta(poolRules);

export const loadBalancerPoolStatus = z.object({
  conditions: conditions.optional(),
  total: z.int().min(0).describe('Number of addresses, 9007199254740991 at most.').optional(),
  available: z.int().min(0).describe('Addresses that no Service has.').optional(),
  used: z.int().min(0).describe('Addresses that Services have; one that several share counts once.').optional(),
});

export type LoadBalancerPoolSpec = z.infer<typeof loadBalancerPoolSpec>;
export type LoadBalancerPoolStatus = z.infer<typeof loadBalancerPoolStatus>;

export const loadBalancerPoolKind: Kind = {
  group: 'isthmus.network',
  version: 'v1',
  kind: 'LoadBalancerPool',
  plural: 'loadbalancerpools',
  singular: 'loadbalancerpool',
  shortNames: ['lbpool'],
  scope: 'Cluster',
  spec: loadBalancerPoolSpec,
  status: loadBalancerPoolStatus,
  hasStatusSubresource: true,
  description: 'Addresses for Services of type LoadBalancer.',
  columns: [
    { name: 'Addresses', type: 'string', path: '.spec.addresses' },
    { name: 'Auto', type: 'boolean', path: '.spec.autoAssign' },
    { name: 'Used', type: 'integer', path: '.status.used' },
    { name: 'Available', type: 'integer', path: '.status.available' },
    { name: 'Total', type: 'integer', path: '.status.total', priority: 1 },
    conditionColumn('Ready'),
    reasonColumn(),
    ageColumn,
  ],
  rules: [{ rule: 'has(self.spec)', message: 'spec is needed, with addresses' }],
};
