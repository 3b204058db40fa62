import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, mapList, reasonColumn, rules, type Kind } from './shared.ts';

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
    .min(1)
    .max(256)
    .optional()
    .describe('Any of these ranges.'),
  origins: z
    .array(z.enum(['connected', 'static', 'bgp', 'aggregate']))
    .min(1)
    .max(4)
    .optional()
    .describe('Where the cluster that offers it has it from: any of these.'),
  tags: z.array(tag).min(1).max(32).optional().describe('Any of these tags.'),
  vpcs: z.array(z.string().min(1).max(253)).min(1).max(64).optional().describe('VPCs of this cluster: any of these.'),
  clusters: z
    .array(z.string().min(1).max(40))
    .min(1)
    .max(1000)
    .optional()
    .describe('Import: the cluster that offers the prefix is one of these. Export: it is about telling these.'),
});

export const routeRule = z
  .object({
    match: routeMatch.default({}),
    action: z.enum(['Allow', 'Deny']).default('Allow'),
    setTags: z
      .array(tag)
      .max(16)
      .optional()
      .describe(
        'Added to the prefix. Export: the others see them; a prefix has the same tags for all that are told of it.',
      ),
    setPreference: z
      .int()
      .min(0)
      .max(4294967295)
      .optional()
      .describe('Import only: among routes to one prefix the highest is used; 100 by default.'),
    aggregate: z
      .string()
      .min(1)
      .max(49)
      .optional()
      .describe('Export only: matching prefixes within this one are announced as this one, once one of them is there.'),
  })
  .meta(
    rules({
      rule: "self.action == 'Allow' || !(has(self.setTags) || has(self.setPreference) || has(self.aggregate))",
      message: 'setTags, setPreference and aggregate are for action Allow',
    }),
  );

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
    transitSwitches: z
      .array(z.string().min(1).max(32))
      .min(1)
      .max(64)
      .optional()
      .describe('Only these; all by default.'),
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
      .describe(
        'Import: how many prefixes of one cluster are used, those of all its transit switches here together. Those beyond, in order of address, are refused.',
      ),
  })
  .meta(
    rules(
      {
        rule: "self.direction == 'Export' || !has(self.rules) || self.rules.all(r, !has(r.aggregate))",
        message: 'aggregate is for direction Export',
      },
      {
        rule: "self.direction == 'Import' || !has(self.rules) || self.rules.all(r, !has(r.setPreference))",
        message: 'setPreference is for direction Import',
      },
      { rule: "self.direction == 'Import' || !has(self.maxPrefixes)", message: 'maxPrefixes is for direction Import' },
    ),
  );

export const routePolicyStatus = z.object({
  conditions: conditions.optional(),
  rules: z
    .array(z.object({ index: z.int(), prefixes: z.int() }))
    .meta(mapList('index'))
    .describe('How many prefixes each rule in force decided, in the last round.')
    .optional(),
  inForce: z
    .string()
    .describe('The spec that goes on being applied while the present one is refused, as JSON; absent otherwise.')
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
    reasonColumn(),
    ageColumn,
  ],
};
