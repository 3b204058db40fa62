import { z } from 'zod';
import { prefixField, sliceRoutes } from './route-slice.ts';
import { ageColumn, type Kind } from './shared.ts';

/** A prefix of another cluster on one transit switch. */
export const remoteRoute = z.object({
  prefix: prefixField,
  transitSwitch: z.string(),
  state: z
    .enum(['Active', 'Backup', 'Rejected', 'Unlisted'])
    .describe(
      'Active: packets go there. Backup: no path to it is up, or another cluster has it. Rejected: it is not used. Unlisted: not a prefix itself, but a network that contains prefixes for which there is no room.',
    ),
  reason: z
    .string()
    .describe(
      'Why it is not Active: Overlap, Denied, MaxPrefixes, NextHopDown, NotPreferred, Loop, PrefixInvalid, NoGateway …',
    )
    .optional(),
  message: z.string().describe('The same in a sentence, if it is Rejected.').optional(),
  origin: z.string().optional(),
  tags: z.array(z.string()).optional(),
});

export type RemoteRoute = z.infer<typeof remoteRoute>;

export const remoteRouteSliceKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'RemoteRouteSlice',
  plural: 'remoterouteslices',
  singular: 'remoterouteslice',
  shortNames: [],
  scope: 'Cluster',
  data: z.object({
    routes: sliceRoutes(remoteRoute, 'prefix', 'transitSwitch', 'state').describe(
      'The prefixes that new Subnets are compared with, that nodes forward packets of routers to, and that are announced to routers.',
    ),
  }),
  hasStatusSubresource: false,
  description:
    'A part of the prefixes of a RemoteCluster, its owner, for programs to act on; written by the agent. The label `isthmus.network/remote-cluster` names the cluster.',
  columns: [
    { name: 'Cluster', type: 'string', path: String.raw`.metadata.labels.isthmus\.network/remote-cluster` },
    ageColumn,
  ],
};
