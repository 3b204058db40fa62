import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, mapList, rules, type Kind } from './shared.ts';

const tag = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-zA-Z0-9]([-_.:a-zA-Z0-9]*[a-zA-Z0-9])?$/);

/** All that is given must hold; nothing given matches every prefix. */
export const routeMatch = z.object({
  prefixes: z
    .array(
      z
        .object({
          cidr: z.string().min(1).max(49),
          ge: z.int().min(0).max(128).optional().describe('Shortest mask that matches; the mask of `cidr` by default.'),
          le: z
            .int()
            .min(0)
            .max(128)
            .optional()
            .describe(
              'Longest mask that matches; the mask of `cidr` by default, or the longest there is where `ge` is given.',
            ),
        })
        .meta(
          rules({ rule: '!has(self.ge) || !has(self.le) || self.ge <= self.le', message: 'ge must not exceed le' }),
        ),
    )
    .max(256)
    .optional()
    .describe('Any of these ranges.'),
  origins: z
    .array(z.enum(['connected', 'static', 'bgp', 'aggregate']))
    .max(4)
    .optional(),
  tags: z.array(tag).max(32).optional().describe('Any of these tags.'),
  vpcs: z.array(z.string().min(1).max(253)).max(64).optional().describe('VPCs of this cluster.'),
  clusters: z
    .array(z.string().min(1).max(40))
    .max(1000)
    .optional()
    .describe('Clusters the prefix comes from or goes to.'),
});

export const routeRule = z.object({
  match: routeMatch.default({}),
  action: z.enum(['Allow', 'Deny']).default('Allow'),
  setTags: z.array(tag).max(16).optional().describe('Added to the prefix; with export the others see them.'),
  setPreference: z
    .int()
    .min(0)
    .max(4294967295)
    .optional()
    .describe('Among routes to one prefix the highest is used; 100 by default.'),
  aggregate: z
    .string()
    .max(49)
    .optional()
    .describe('Export only: matching prefixes within this one are announced as this one.'),
});

/** Which prefixes this cluster takes from others (Import) and tells them (Export). */
export const routePolicySpec = z
  .object({
    direction: z.enum(['Import', 'Export']),
    priority: z
      .int()
      .min(0)
      .max(65535)
      .default(100)
      .describe('Policies are asked in this order, lowest first; then by name.'),
    transitSwitches: z.array(z.string().min(1).max(32)).max(64).optional().describe('Only these; all by default.'),
    rules: z.array(routeRule).max(256).default([]).describe('The first that matches decides.'),
    defaultAction: z
      .enum(['Allow', 'Deny', 'Next'])
      .default('Next')
      .describe('What becomes of a prefix no rule matches: Next asks the next policy; after the last all are allowed.'),
    maxPrefixes: z
      .int()
      .min(0)
      .max(1000000)
      .optional()
      .describe('Import: how many prefixes of one cluster are used. Those beyond, in order of address, are refused.'),
  })
  .meta(
    rules({
      rule: "self.direction == 'Export' || !has(self.rules) || self.rules.all(r, !has(r.aggregate))",
      message: 'aggregate is for direction Export',
    }),
  );

export const routePolicyStatus = z.object({
  conditions: conditions.optional(),
  rules: z
    .array(z.object({ index: z.int(), prefixes: z.int() }))
    .meta(mapList('index'))
    .describe('How many prefixes each rule decided, in the last round.')
    .optional(),
  overLimit: z.int().describe('Prefixes refused by maxPrefixes.').optional(),
});

export type RouteMatch = z.infer<typeof routeMatch>;
export type RouteRule = z.infer<typeof routeRule>;
export type RoutePolicySpec = z.infer<typeof routePolicySpec>;
export type RoutePolicyStatus = z.infer<typeof routePolicyStatus>;

export const routePolicyKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'RoutePolicy',
  plural: 'routepolicies',
  singular: 'routepolicy',
  shortNames: ['rpol'],
  scope: 'Cluster',
  spec: routePolicySpec,
  status: routePolicyStatus,
  hasStatusSubresource: true,
  description: 'Which prefixes this cluster takes from other clusters and which it tells them.',
  columns: [
    { name: 'Direction', type: 'string', path: '.spec.direction' },
    { name: 'Priority', type: 'integer', path: '.spec.priority' },
    conditionColumn('Ready'),
    ageColumn,
  ],
};
