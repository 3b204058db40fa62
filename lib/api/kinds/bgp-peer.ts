import { z } from 'zod';
import { addressFamily, asn, bgpGroup, routerAddressField } from './bgp-shared.ts';
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

const passwordSecretRef = z.object({
  name: z
    .string()
    .min(1)
    .max(253)
    .describe('A Secret in the namespace of Isthmus, one of those of the chart value `speaker.passwordSecrets`.'),
  key: z.string().min(1).max(253).default('password'),
});

const bfd = z.object({
  transmitIntervalMilliseconds: z.int().min(50).max(60000).default(300),
  receiveIntervalMilliseconds: z.int().min(50).max(60000).default(300),
  detectMultiplier: z
    .int()
    .min(2)
    .max(50)
    .default(3)
    .describe('Number of packets that may be missing before the session ends.'),
});

/** Default time for which a session stays down after it exceeded its limit of prefixes. */
export const limitRestartSeconds = 300;

/** Each prefix of a peer with `import` is kept and judged by every speaker that has the peer. */
export const mostImportedPrefixes = 10_000;

const peerImport = z.object({
  vpc: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe(
      'Accepted prefixes become routes of this VPC to the nodes that learned them. Only the default VPC is supported.',
    ),
  node: z
    .boolean()
    .default(true)
    .describe('Accepted prefixes become routes of the node that learned them. Required with `vpc`.'),
  maxPrefixes: z
    .int()
    .min(1)
    .max(1000)
    .default(200)
    .describe('How many prefixes of this peer one node uses; the rest, in the order of addresses, are refused.'),
});

export const bgpPeerSpec = z
  .object({
    instance: z.string().min(1).max(253).describe('The BgpInstance this peer belongs to.'),
    address: routerAddressField('address')
      .optional()
      .describe('The neighbour, IPv4 or IPv6. Either this or `interface`, which is for link-local addresses.'),
    interface: z
      .string()
      .regex(/^[^\s/:%]{1,15}$/)
      .optional()
      .describe(
        'Instead of `address`: the only router on this link of each selected node, found by its link-local address. Both families by default, with the link-local next hop (RFC 8950).',
      ),
    asn: asn.describe("The neighbour's AS. The instance's own AS makes the session iBGP."),
    localASN: asn
      .optional()
      .describe("Our AS on the sessions with this peer, where it is another than the instance's."),
    sourceAddress: routerAddressField('sourceAddress')
      .optional()
      .describe(
        'Our address of the session, one that each selected node has; by default the one of the route to the peer.',
      ),
    families: z
      .array(addressFamily)
      .min(1)
      .max(2)
      .meta({ 'x-kubernetes-list-type': 'set' })
      .optional()
      .describe(
        "Address families of the session; that of the peer's address by default, both with `interface`. The next hop of the other family is the node's InternalIP of that family.",
      ),
    extendedNextHop: z
      .boolean()
      .default(false)
      .describe(
        'IPv4 prefixes go over this IPv6 session with an IPv6 next hop (RFC 8950). Needs `ipv4` among the families.',
      ),
    passwordSecretRef: passwordSecretRef
      .optional()
      .describe(
        'The password of the session (TCP MD5, RFC 2385), of 80 bytes at most. While it cannot be read, no session begins, and an existing one continues unchanged.',
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
    connectRetrySeconds: z
      .int()
      .min(1)
      .max(65535)
      .default(5)
      .describe('How long to wait before a failed connection attempt is repeated.'),
    gracefulRestart: z
      .object({
        enabled: z.boolean().default(true),
        restartTimeSeconds: z.int().min(1).max(4095).default(120),
        longLivedStaleSeconds: z
          .int()
          .min(1)
          .max(16777215)
          .optional()
          .describe('Long-lived graceful restart (RFC 9494): how much longer the routes are kept as a last resort.'),
      })
      .optional()
      .describe("In place of the instance's."),
    bfd: bfd
      .optional()
      .describe(
        'The session ends when BFD loses the neighbour. The neighbour must have BFD too. Needs gobgpd 4.6 or newer.',
      ),
    routeReflectorClient: z
      .boolean()
      .default(false)
      .describe('The neighbour is a client to which the nodes reflect routes; only of iBGP.'),
    maximumPrefixes: z
      .object({
        limit: z.int().min(1).max(1000000),
        restartSeconds: z
          .int()
          .min(1)
          .max(86400)
          .default(limitRestartSeconds)
          .describe('How long the session stays down after the limit was exceeded.'),
      })
      .optional()
      .describe(
        'Ends the session when the neighbour sends more prefixes of one family than this. With `import` it is 10 times its maxPrefixes by default, and 10,000 at most.',
      ),
    import: peerImport
      .optional()
      .describe(
        'What happens to prefixes that the neighbour sends and a RoutePolicy allows. Without it, none is used.',
      ),
    advertisements: labelSelector
      .default({})
      .describe('BgpAdvertisements sent to this peer, by label; all by default.'),
  })
  .meta(
    rules(
      {
        rule: `!has(self.__import__) || !has(self.maximumPrefixes) || self.maximumPrefixes.limit <= ${mostImportedPrefixes}`,
        message:
          'with import, maximumPrefixes.limit may be 10000 at most: speakers keep and judge each prefix of the neighbour; let it send fewer, or a default route',
      },
      {
        rule: 'self.keepaliveSeconds < self.holdTimeSeconds',
        message: 'keepaliveSeconds must be below holdTimeSeconds',
      },
      {
        rule: '!has(self.ttlSecurityHops) || self.ebgpMultihopTTL == 1',
        message: 'ttlSecurityHops and an ebgpMultihopTTL above 1 exclude each other',
      },
      {
        rule: 'has(self.address) != has(self.interface)',
        message: 'give either the address of the neighbour or the interface it is on',
      },
      {
        rule: "!self.extendedNextHop || has(self.interface) || (has(self.address) && self.address.contains(':') && has(self.families) && 'ipv4' in self.families)",
        message: 'extendedNextHop is for a neighbour with an IPv6 address and ipv4 among the families',
      },
      {
        rule: '!has(self.interface) || (!has(self.sourceAddress) && self.ebgpMultihopTTL == 1 && (!has(self.ttlSecurityHops) || self.ttlSecurityHops == 1))',
        message:
          'a neighbour on an interface is one hop away and spoken to by link-local addresses: no sourceAddress, no ebgpMultihopTTL above 1, no ttlSecurityHops above 1',
      },
      {
        rule: "!has(self.sourceAddress) || !has(self.address) || self.sourceAddress.contains(':') == self.address.contains(':')",
        message: 'sourceAddress must be of the address family of address',
      },
      {
        rule: '!has(self.__import__) || !has(self.__import__.vpc) || self.__import__.node',
        message: 'import.vpc needs import.node, because traffic of the VPC leaves through the node',
      },
    ),
  );

const nodeSession = z.object({
  node: z.string(),
  state: z
    .string()
    .describe(
      'Idle, Connect, Active, OpenSent, OpenConfirm, Established, Refused where this node cannot have the peer, or Unreachable where gobgpd does not answer.',
    ),
  reason: z.string().describe('Why it is not Established: a code.').optional(),
  message: z.string().describe('The same in a sentence, with the remedy.').optional(),
  since: dateTime.optional(),
  advertised: z.int().optional(),
});

export const bgpPeerStatus = z.object({
  conditions: conditions.optional(),
  nodes: z.array(nodeSession).meta(mapList('node')).optional(),
  established: z.string().describe('`n/m` nodes.').optional(),
});

export type BgpPeerSpec = z.infer<typeof bgpPeerSpec>;

export const bgpPeerKind: Kind = {
  ...bgpGroup,
  kind: 'BgpPeer',
  plural: 'bgppeers',
  singular: 'bgppeer',
  shortNames: ['bgpp'],
  spec: bgpPeerSpec,
  status: bgpPeerStatus,
  description: 'A router that the nodes of an instance peer with.',
  columns: [
    { name: 'Address', type: 'string', path: '.spec.address' },
    { name: 'Interface', type: 'string', path: '.spec.interface' },
    { name: 'ASN', type: 'integer', path: '.spec.asn' },
    { name: 'Established', type: 'string', path: '.status.established' },
    conditionColumn('Accepted'),
    ageColumn,
  ],
};
