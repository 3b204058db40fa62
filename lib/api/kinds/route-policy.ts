import { z } from 'zod';
import { bgpAttributes, bgpSources } from './bgp-advertisement.ts';
import { ageColumn, conditionColumn, conditions, mapList, reasonColumn, rules, type Kind } from './shared.ts';

const tag = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-zA-Z0-9]([-_.:a-zA-Z0-9]*[a-zA-Z0-9])?$/);

// Splitting the text would be beyond the cost budget of CEL.
const upTo65535 = '(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5]?[0-9]{1,4})';

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
    .describe('The origin of the prefix in the cluster that offers it: any of these.'),
  tags: z.array(tag).min(1).max(32).optional().describe('Any of these tags.'),
  communities: z
    .array(
      z
        .string()
        .max(32)
        .regex(/^[0-9]{1,10}:[0-9]{1,10}(:[0-9]{1,10})?$/)
        .meta(
          rules({
            rule: `self.matches(r'^(${upTo65535}:${upTo65535}|[0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10})$')`,
            message: 'a community is asn:value, each up to 65535, or asn:value:value, each up to 4294967295',
          }),
        ),
    )
    .min(1)
    .max(32)
    .optional()
    .describe('Import from BGP: any of these communities, `asn:value` or large, `asn:value:value`.'),
  sources: z
    .array(z.enum(bgpSources))
    .min(1)
    .max(5)
    .optional()
    .describe('Export to BGP: the sources of the BgpAdvertisements that announce it: any of these.'),
  vpcs: z.array(z.string().min(1).max(253)).min(1).max(64).optional().describe('VPCs of this cluster: any of these.'),
  clusters: z
    .array(z.string().min(1).max(40))
    .min(1)
    .max(1000)
    .optional()
    .describe(
      'Import: the cluster that offers the prefix is one of these. Export: the prefix is offered to one of these.',
    ),
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
        'Added to the prefix. Export: the others see them; a prefix has the same tags in every cluster that it is offered to.',
      ),
    setPreference: z
      .int()
      .min(0)
      .max(4294967295)
      .optional()
      .describe('Import only: among routes to one prefix the highest is used; 100 by default.'),
    setBgp: bgpAttributes
      .optional()
      .describe(
        'Export to BGP only: communities are added to those of the advertisements, the other attributes replace theirs.',
      ),
    aggregate: z
      .string()
      .min(1)
      .max(49)
      .optional()
      .describe(
        'Export only: matching prefixes within this one are announced as this one, as soon as one of them exists.',
      ),
  })
  .meta(
    rules({
      rule: "self.action == 'Allow' || !(has(self.setTags) || has(self.setPreference) || has(self.aggregate) || has(self.setBgp))",
      message: 'setTags, setPreference, aggregate and setBgp are for action Allow',
    }),
  );

/** Which prefixes this cluster imports from other clusters and routers, and exports to them. */
export const routePolicySpec = z
  .object({
    direction: z.enum(['Import', 'Export']),
    priority: z
      .int()
      .min(0)
      .max(65535)
      .default(100)
      .describe('Policies are evaluated in this order, lowest first; then by name.'),
    transitSwitches: z
      .array(z.string().min(1).max(32))
      .min(1)
      .max(64)
      .optional()
      .describe('Only these; all by default.'),
    bgpPeers: z
      .array(z.string().min(1).max(253))
      .min(1)
      .max(64)
      .optional()
      .describe(
        'Sessions with these BgpPeers. A policy that names some applies to other clusters only if it also names transitSwitches; one that names none does not apply to BGP. Without a decision, a prefix is exported, and not imported.',
      ),
    rules: z.array(routeRule).max(256).default([]).describe('The first that matches decides.'),
    defaultAction: z
      .enum(['Allow', 'Deny', 'Next'])
      .default('Next')
      .describe(
        'What happens to a prefix that no rule matches: Next continues with the next policy; after the last one all are allowed, except prefixes of routers.',
      ),
    maxPrefixes: z
      .int()
      .min(0)
      .max(1000000)
      .optional()
      .describe(
        'Import: how many prefixes of one cluster are used, those of all its transit switches here together. The rest, in the order of addresses, are refused.',
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
      {
        rule: 'has(self.bgpPeers) || !has(self.rules) || self.rules.all(r, !has(r.setBgp) && (!has(r.match) || (!has(r.match.communities) && !has(r.match.sources))))',
        message: 'setBgp, match.communities and match.sources are for a policy with bgpPeers',
      },
      {
        rule: "self.direction == 'Export' || !has(self.rules) || self.rules.all(r, !has(r.setBgp) && (!has(r.match) || !has(r.match.sources)))",
        message: 'setBgp and match.sources are for direction Export',
      },
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
    .describe('The previous spec, as JSON, which stays in force while the present one is refused; absent otherwise.')
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
  description:
    'Which prefixes this cluster imports from other clusters and from routers, and which it exports to them.',
  columns: [
    { name: 'Direction', type: 'string', path: '.spec.direction' },
    { name: 'Priority', type: 'integer', path: '.spec.priority' },
    conditionColumn('Ready'),
    reasonColumn(),
    ageColumn,
  ],
};
