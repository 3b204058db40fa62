import { z } from 'zod';
import { addressFamily, bgpGroup } from './bgp-shared.ts';
import { bgpRoute } from './bgp-route-slice.ts';
import { ageColumn, dateTime, mapList, type Kind } from './shared.ts';

const session = z.object({
  peer: z.string().describe('The BgpPeer, or `(flags)` and the address for one that the chart values define.'),
  address: z.string(),
  asn: z.int(),
  state: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  since: dateTime.optional(),
  flaps: z.int().describe('How often the session ended since gobgpd began.').optional(),
  lastError: z.string().describe('Why it ended last.').optional(),
  localAddress: z.string().optional(),
  holdTimeSeconds: z.int().describe('As both sides agreed.').optional(),
  bfd: z.string().optional(),
  families: z
    .array(
      z.object({
        family: addressFamily,
        advertised: z.int().describe('Prefixes announced to the neighbour.').optional(),
        received: z.int().describe('Prefixes received from the neighbour.').optional(),
      }),
    )
    .optional(),
  used: z.int().describe('Received prefixes that are routes here.').optional(),
  notUsed: z
    .array(z.object({ reason: z.string(), count: z.int() }))
    .describe('Why others are not: Denied, Loop, OwnPrefix, OverLimit, DefaultRoute, PrefixInvalid.')
    .optional(),
  ownPrefixes: z
    .array(z.object({ prefix: z.string(), holder: z.string() }))
    .describe('The first prefixes that were refused as OwnPrefix, and what of the node or the cluster needs each.')
    .optional(),
});

/** One per node with a speaker, written by it. */
export const bgpNodeStateStatus = z.object({
  instance: z.string().describe('The BgpInstance, or `(flags)` where the chart values ask for sessions.').optional(),
  values: z
    .string()
    .describe('The BgpInstance and the BgpPeers that the chart values ask for, as JSON, on nodes that have them.')
    .optional(),
  asn: z.int().optional(),
  routerID: z.string().optional(),
  daemonVersion: z.string().optional(),
  ready: z.boolean().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
  drain: z.enum(['None', 'Leaving', 'Drained']).optional(),
  prefixes: z.int().describe('Prefixes this node announces.').optional(),
  established: z.string().describe('Sessions that are up, of all: `2/2`.').optional(),
  peers: z.array(session).meta(mapList('address')).optional(),
  interfaces: z
    .array(z.string())
    .meta({ 'x-kubernetes-list-type': 'set' })
    .describe('Links with peers that have no address; the daemon sends router advertisements there.')
    .optional(),
  policies: z
    .array(z.object({ policy: z.string(), rules: z.array(z.object({ index: z.int(), prefixes: z.int() })) }))
    .meta(mapList('policy'))
    .describe(
      'How many prefixes each rule of a RoutePolicy decided here, over all sessions; rules that decided none are left out.',
    )
    .optional(),
  learnedRoutes: z.int().describe('Routes in use.').optional(),
  learned: z
    .array(bgpRoute.extend({ prefix: z.string() }))
    .describe('A sample for readers: the first 100 routes in use. All are in BgpRouteSlices, which programs read.')
    .optional(),
});

export type BgpNodeStateStatus = z.infer<typeof bgpNodeStateStatus>;

export const bgpNodeStateKind: Kind = {
  ...bgpGroup,
  kind: 'BgpNodeState',
  plural: 'bgpnodestates',
  singular: 'bgpnodestate',
  shortNames: ['bgpn'],
  status: bgpNodeStateStatus,
  description: 'BGP on one node: sessions and counts; written by the speaker.',
  columns: [
    { name: 'Instance', type: 'string', path: '.status.instance' },
    { name: 'ASN', type: 'integer', path: '.status.asn' },
    { name: 'Sessions', type: 'string', path: '.status.established' },
    { name: 'Prefixes', type: 'integer', path: '.status.prefixes' },
    { name: 'Learned', type: 'integer', path: '.status.learnedRoutes' },
    { name: 'Ready', type: 'boolean', path: '.status.ready' },
    ageColumn,
  ],
};
