import { z } from 'zod';
import { ageColumn, conditionColumn, conditions, dateTime, mapList, reasonColumn, type Kind } from './shared.ts';

/** At the hub: a cluster that has joined. Made by the hub when a join token is redeemed; its backup is a part of the hub's. */
export const hubMemberSpec = z.object({
  allowedPrefixes: z
    .array(z.string().max(49))
    .max(64)
    .default([])
    .describe('Only prefixes within these are accepted from it; empty: all. Initially from its join token.'),
  maxPrefixes: z.int().min(0).max(1000000).default(10000).describe('How many prefixes are accepted from it.'),
  maxExports: z
    .int()
    .min(0)
    .max(10000)
    .default(1000)
    .describe(
      'How many exported Services are accepted from it, the oldest first. All together may have a hundred times as many endpoints.',
    ),
  maxEndpointsPerExport: z
    .int()
    .min(0)
    .max(10000)
    .default(1000)
    .describe('How many endpoints of one exported Service are accepted; the others are left out.'),
  allowedNamespaces: z
    .array(
      z
        .string()
        .max(63)
        .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/),
    )
    .max(256)
    .default([])
    .describe('Only exported Services of these namespaces are accepted from it; empty: of all.'),
});

/** What was allocated to it on one transit switch, one entry a path. */
export const allocatedPath = z.object({
  switch: z.string(),
  mac: z.string(),
  networks: z.array(z.string()),
  tunnelKey: z.int(),
});

/** All paths of a member to one other cluster, as the member reports them. */
export const pathSummary = z.object({
  cluster: z.string(),
  paths: z.int(),
  up: z.int(),
  state: z.string().describe('Of the worst path: Up, HoldDown, Draining, Moving, Unknown or Down.'),
  reason: z.string().describe('Why it is not up: a code.').optional(),
  since: dateTime.describe('The newest change of a path.').optional(),
  encryption: z
    .string()
    .describe('Of the tunnels to it: off, encrypted, or a code that says why they are not.')
    .optional(),
});

/** What a member reports about itself. The hub decides nothing by it. */
export const memberReport = z.object({
  version: z.string().describe('Release of its agent.'),
  clusters: z.int().describe('Other clusters to which it has paths.'),
  clustersUp: z.int().describe('Those of them to which all paths are up.'),
  paths: z
    .array(pathSummary)
    .max(64)
    .describe('One per cluster, those with a path that is not up first; the others are up.')
    .optional(),
});

export const hubMemberStatus = z.object({
  conditions: conditions.optional(),
  clusterName: z
    .string()
    .describe(
      'Name of the cluster after a rename; absent if it still has the name of this object, with which it first joined.',
    )
    .optional(),
  formerName: z.string().describe('Name of the cluster before the last rename.').optional(),
  fingerprint: z.string().describe('SHA-256 of the key that is the membership.').optional(),
  token: z.string().describe('Id of the token it joined with.').optional(),
  joined: dateTime.optional(),
  leaving: z.boolean().optional(),
  lastSeen: dateTime.describe('When its last session ended; absent while it has one.').optional(),
  ports: z.array(allocatedPath).meta(mapList('switch')).optional(),
  prefixes: z.int().describe('Prefixes accepted from it.').optional(),
  exports: z.int().describe('Exported Services accepted from it.').optional(),
  rejections: z
    .int()
    .describe(
      'Parts of its state that the hub refuses: the conditions of its Interconnect and its ServiceExports name them.',
    )
    .optional(),
  report: memberReport.describe('What its agent reports; absent of an agent of an earlier release.').optional(),
});

export type HubMemberSpec = z.infer<typeof hubMemberSpec>;
export type MemberReport = z.infer<typeof memberReport>;
export type HubMemberStatus = z.infer<typeof hubMemberStatus>;

export const hubMemberKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'HubMember',
  plural: 'hubmembers',
  singular: 'hubmember',
  shortNames: [],
  scope: 'Cluster',
  spec: hubMemberSpec,
  status: hubMemberStatus,
  hasStatusSubresource: true,
  description:
    'A cluster that has joined, in the cluster of the hub. Deleting it ends the membership and removes its rows.',
  columns: [
    { name: 'RenamedTo', type: 'string', path: '.status.clusterName' },
    conditionColumn('Connected'),
    reasonColumn('Connected'),
    conditionColumn('SpecAccepted', 'Limits'),
    { name: 'LastSeen', type: 'date', path: '.status.lastSeen' },
    { name: 'Joined', type: 'date', path: '.status.joined' },
    ageColumn,
  ],
};
