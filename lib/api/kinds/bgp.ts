import { z } from 'zod';
import { matchesWhole, pattern } from './address.ts';
import {
  ageColumn,
  conditionColumn,
  conditions,
  dateTime,
  labelSelector,
  mapList,
  rules,
  type Kind,
} from './shared.ts';

const asn = z.int().min(1).max(4294967295);

/** The local side of BGP on the nodes it selects: one gobgpd per node. */
export const bgpInstanceSpec = z.object({
  nodeSelector: labelSelector.default({ matchLabels: { 'ovn.kubernetes.io/bgp': 'true' } }),
  localASN: asn,
  listenPort: z.int().min(-1).max(65535).default(179).describe('-1 does not listen.'),
  gracefulRestart: z
    .object({ enabled: z.boolean().default(true), restartTimeSeconds: z.int().min(1).max(4095).default(120) })
    .default({ enabled: true, restartTimeSeconds: 120 }),
});

export const bgpPeerSpec = z
  .object({
    instance: z.string().min(1).max(253).describe('The BgpInstance this peer belongs to.'),
    address: z
      .string()
      .max(64)
      .describe('The neighbour, IPv4 or IPv6.')
      .meta(
        rules({
          rule: matchesWhole('self', pattern.ip),
          message: 'address must be an IP address (IPv6 in lower case)',
        }),
      ),
    asn,
    localASN: asn
      .optional()
      .describe("Our AS on the sessions with this peer, where it is another than the instance's."),
    passwordSecretRef: z
      .object({
        name: z
          .string()
          .min(1)
          .max(253)
          .describe('A Secret in the namespace of Isthmus, one of those of the chart value `speaker.passwordSecrets`.'),
        key: z.string().min(1).max(253).default('password'),
      })
      .optional()
      .describe(
        'The password of the session (TCP MD5, RFC 2385), of 80 bytes at most. While it cannot be read, no session begins, and one that is there goes on as it is.',
      ),
    port: z.int().min(1).max(65535).default(179),
    passive: z
      .boolean()
      .default(false)
      .describe('The neighbour opens the connection; the nodes only listen, so the instance must have a listenPort.'),
    nodeSelector: labelSelector
      .default({})
      .describe('Of the nodes of the instance, those that have this peer; all by default.'),
    ebgpMultihopTTL: z.int().min(1).max(255).default(1),
    ttlSecurityHops: z
      .int()
      .min(1)
      .max(254)
      .optional()
      .describe(
        'TTL security (RFC 5082): packets of a neighbour that may be farther away are dropped; 1 is a neighbour on the same link. The neighbour must have it too. Excludes ebgpMultihopTTL above 1.',
      ),
    holdTimeSeconds: z.int().min(3).max(65535).default(90),
    keepaliveSeconds: z.int().min(1).max(21845).default(30),
    advertisements: labelSelector
      .default({})
      .describe('BgpAdvertisements sent to this peer, by label; all by default.'),
  })
  .meta(
    rules(
      {
        rule: 'self.keepaliveSeconds < self.holdTimeSeconds',
        message: 'keepaliveSeconds must be below holdTimeSeconds',
      },
      {
        rule: '!has(self.ttlSecurityHops) || self.ebgpMultihopTTL == 1',
        message: 'ttlSecurityHops and an ebgpMultihopTTL above 1 exclude each other',
      },
    ),
  );

/** Which prefixes are announced. */
export const bgpAdvertisementSpec = z.object({
  source: z.enum(['Subnet']).describe('What is announced: the CIDRs of subnets.'),
  selector: labelSelector
    .default({})
    .describe('Which objects of the source; all by default. The join subnet is never announced.'),
});

const nodeSession = z.object({
  node: z.string(),
  state: z
    .string()
    .describe(
      'Idle, Connect, Active, OpenSent, OpenConfirm, Established, Refused where this node cannot have the peer, or Unreachable where gobgpd does not answer.',
    ),
  reason: z.string().describe('Why it is not Established, in one word.').optional(),
  message: z.string().describe('The same in a sentence, with what to do.').optional(),
  since: dateTime.optional(),
  advertised: z.int().optional(),
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
export const bgpPeerStatus = z.object({
  conditions: conditions.optional(),
  nodes: z.array(nodeSession).meta(mapList('node')).optional(),
  established: z.string().describe('`n/m` nodes.').optional(),
});
export const bgpAdvertisementStatus = z.object({
  conditions: conditions.optional(),
  prefixes: z.array(z.string()).optional(),
});

export type BgpInstanceSpec = z.infer<typeof bgpInstanceSpec>;
export type BgpPeerSpec = z.infer<typeof bgpPeerSpec>;
export type BgpAdvertisementSpec = z.infer<typeof bgpAdvertisementSpec>;

const group = { group: 'isthmus.network', version: 'v1alpha1', scope: 'Cluster', hasStatusSubresource: true } as const;

export const bgpInstanceKind: Kind = {
  ...group,
  kind: 'BgpInstance',
  plural: 'bgpinstances',
  singular: 'bgpinstance',
  shortNames: ['bgpi'],
  spec: bgpInstanceSpec,
  status: bgpInstanceStatus,
  description: 'The local side of BGP on the nodes it selects.',
  columns: [{ name: 'ASN', type: 'integer', path: '.spec.localASN' }, conditionColumn('Ready'), ageColumn],
};

export const bgpPeerKind: Kind = {
  ...group,
  kind: 'BgpPeer',
  plural: 'bgppeers',
  singular: 'bgppeer',
  shortNames: ['bgpp'],
  spec: bgpPeerSpec,
  status: bgpPeerStatus,
  description: 'A router that the nodes of an instance peer with.',
  columns: [
    { name: 'Address', type: 'string', path: '.spec.address' },
    { name: 'ASN', type: 'integer', path: '.spec.asn' },
    { name: 'Established', type: 'string', path: '.status.established' },
    conditionColumn('Accepted'),
    ageColumn,
  ],
};

export const bgpAdvertisementKind: Kind = {
  ...group,
  kind: 'BgpAdvertisement',
  plural: 'bgpadvertisements',
  singular: 'bgpadvertisement',
  shortNames: ['bgpa'],
  spec: bgpAdvertisementSpec,
  status: bgpAdvertisementStatus,
  description: 'Which prefixes are announced to peers.',
  columns: [
    { name: 'Source', type: 'string', path: '.spec.source' },
    conditionColumn('Ready'),
    { name: 'Prefixes', type: 'string', path: '.status.prefixes', priority: 1 },
    ageColumn,
  ],
};
