import { z } from 'zod';
import { prefixField, sliceRoutes } from './route-slice.ts';
import { ageColumn, type Kind } from './shared.ts';

/** A prefix of a router that is a route here. */
export const bgpRoute = z.object({
  prefix: prefixField,
  peer: z.string(),
  nextHop: z.string().describe('A link-local one with its interface: `fe80::1%eth1`.'),
  asPath: z.string().optional(),
  preference: z.int(),
  vpc: z.string().describe('The VPC that has the route, besides the node.').optional(),
  tags: z.array(z.string()).optional(),
});

export type BgpRoute = z.infer<typeof bgpRoute>;

export const bgpRouteSliceKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'BgpRouteSlice',
  plural: 'bgprouteslices',
  singular: 'bgprouteslice',
  shortNames: [],
  scope: 'Cluster',
  data: z.object({
    routes: sliceRoutes(bgpRoute, 'prefix', 'peer').describe(
      'What becomes routes of the node, and of the VPC where one is named.',
    ),
  }),
  hasStatusSubresource: false,
  description:
    'A part of what a node learned from its routers, for programs to act on; owned by the BgpNodeState of the node and written by its speaker. The label `isthmus.network/bgp-node-state` names the node.',
  columns: [
    { name: 'Node', type: 'string', path: String.raw`.metadata.labels.isthmus\.network/bgp-node-state` },
    ageColumn,
  ],
};
