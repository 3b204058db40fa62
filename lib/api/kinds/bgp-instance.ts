import { z } from 'zod';
import { label } from '../names.ts';
import { matchesWhole, pattern } from './address.ts';
import { asn, bgpGroup } from './bgp-shared.ts';
import { ageColumn, conditionColumn, conditions, labelSelector, mapList, rules, type Kind } from './shared.ts';

/** The local side of BGP on the nodes it selects: one gobgpd per node. */
export const bgpInstanceSpec = z.object({
  nodeSelector: labelSelector.default({ matchLabels: { [label.bgp]: 'true' } }),
  localASN: asn,
  listenPort: z.int().min(-1).max(65535).default(179).describe('-1: gobgpd does not listen.'),
  gracefulRestart: z
    .object({ enabled: z.boolean().default(true), restartTimeSeconds: z.int().min(1).max(4095).default(120) })
    .default({ enabled: true, restartTimeSeconds: 120 }),
  ownedPrefixes: z
    .array(
      z
        .string()
        .min(1)
        .max(49)
        .meta(
          rules({
            rule: matchesWhole('self', pattern.cidr),
            message: 'ownedPrefixes are networks such as 192.0.2.0/24 or fd00::/48 (IPv6 in lower case)',
          }),
        ),
    )
    .min(1)
    .max(256)
    .optional()
    .describe(
      'Prefixes that belong to the cluster besides its subnets. If set, addresses of services and EIPs, and aggregates, outside of them are not announced.',
    ),
  drain: z
    .object({
      onCordon: z
        .enum(['None', 'Withdraw'])
        .default('None')
        .describe(
          'What a cordoned node does: nothing, or the same as a node with the annotation `isthmus.network/bgp-drain`.',
        ),
      settleSeconds: z
        .int()
        .min(0)
        .max(600)
        .default(5)
        .describe(
          'How long routes of a node that is drained carry the community GRACEFUL_SHUTDOWN (RFC 8326) before they are withdrawn.',
        ),
    })
    .default({ onCordon: 'None', settleSeconds: 5 }),
});

export const bgpInstanceStatus = z.object({
  conditions: conditions.optional(),
  nodes: z
    .array(
      z.object({
        node: z.string(),
        ready: z.boolean(),
        reason: z.string().optional(),
        routerID: z.string().optional(),
        daemonVersion: z.string().optional(),
        message: z.string().optional(),
      }),
    )
    .meta(mapList('node'))
    .optional(),
});

export type BgpInstanceSpec = z.infer<typeof bgpInstanceSpec>;

export const bgpInstanceKind: Kind = {
  ...bgpGroup,
  kind: 'BgpInstance',
  plural: 'bgpinstances',
  singular: 'bgpinstance',
  shortNames: ['bgpi'],
  spec: bgpInstanceSpec,
  status: bgpInstanceStatus,
  description: 'The local side of BGP on the nodes it selects.',
  columns: [{ name: 'ASN', type: 'integer', path: '.spec.localASN' }, conditionColumn('Ready'), ageColumn],
};
