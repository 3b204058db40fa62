import { z } from 'zod';
import { bgpGroup, routerAddressField } from './bgp-shared.ts';
import { ageColumn, conditionColumn, conditions, labelSelector, rules, type Kind } from './shared.ts';

const number16 = '(0|[1-9][0-9]{0,4})';
const number32 = '(0|[1-9][0-9]{0,9})';

/** Well-known communities (RFC 1997, 3765, 7999, 8326) by name, as 32-bit `asn:value`. */
export const wellKnownCommunities = {
  'graceful-shutdown': '65535:0',
  'accept-own': '65535:1',
  blackhole: '65535:666',
  'no-export': '65535:65281',
  'no-advertise': '65535:65282',
  'no-export-subconfed': '65535:65283',
  'no-peer': '65535:65284',
} as const;

/** CEL: each part of a community is at most this. */
function partsUpTo(max: number): string {
  return `self.split(':').all(part, int(part) <= ${max})`;
}

/** Stands for routes that a router keeps of a neighbour that is gone. */
export const llgrStale = '65535:6';

const communities = z
  .object({
    standard: z
      .array(
        z
          .string()
          .max(11)
          .regex(new RegExp(`^${number16}:${number16}$`))
          .meta(
            rules(
              { rule: partsUpTo(65535), message: 'a standard community is asn:value, each up to 65535' },
              {
                rule: `self != '${llgrStale}'`,
                message: `${llgrStale} is LLGR_STALE (RFC 9494), which only a router gives to routes that it keeps: no peer would get the prefix`,
              },
            ),
          ),
      )
      .min(1)
      .max(32)
      .optional()
      .describe('`asn:value`, each up to 65535 (RFC 1997).'),
    large: z
      .array(
        z
          .string()
          .max(32)
          .regex(new RegExp(`^${number32}:${number32}:${number32}$`))
          .meta(
            rules(
              { rule: partsUpTo(4294967295), message: 'a large community is asn:value:value, each up to 4294967295' },
              {
                rule: "!self.startsWith('4294967295:')",
                message: 'large communities of AS 4294967295 are reserved: no network may have that AS',
              },
            ),
          ),
      )
      .min(1)
      .max(32)
      .optional()
      .describe('`asn:value:value`, each up to 4294967295 (RFC 8092).'),
    wellKnown: z
      .array(z.enum(Object.keys(wellKnownCommunities) as [keyof typeof wellKnownCommunities]))
      .min(1)
      .max(7)
      .optional(),
    extended: z
      .array(z.string().max(64))
      .max(32)
      .optional()
      .describe('Refused: extended communities (RFC 4360) are not sent. Large ones say the same and more.'),
  })
  .meta(
    rules({
      rule: '!has(self.extended)',
      message: 'extended communities are not sent; give large ones (communities.large)',
      fieldPath: '.extended',
    }),
  );

export const bgpAttributes = z.object({
  communities: communities.optional(),
  localPreference: z
    .int()
    .min(1)
    .max(4294967295)
    .optional()
    .describe('Sent on iBGP sessions only. If several advertisements announce one prefix, the highest is sent.'),
  med: z
    .int()
    .min(0)
    .max(4294967295)
    .optional()
    .describe('MULTI_EXIT_DISC. If several advertisements announce one prefix, the lowest is sent.'),
  asPathPrepend: z
    .int()
    .min(1)
    .max(10)
    .optional()
    .describe(
      'How many times our AS is prepended. If several advertisements announce one prefix, the lowest number applies; an advertisement without it counts as 0.',
    ),
  nextHop: z
    .object({
      ipv4: routerAddressField('nextHop.ipv4', 4).optional(),
      ipv6: routerAddressField('nextHop.ipv6', 6).optional(),
    })
    .optional()
    .describe("In place of the node's own address on the session, or of the router port's address of an EIP."),
});

export const bgpSources = ['Subnet', 'Pod', 'Service', 'Eip', 'Interconnect'] as const;

/** Which prefixes are announced, how, to whom and from where. */
export const bgpAdvertisementSpec = z
  .object({
    source: z
      .enum(bgpSources)
      .describe(
        'What is announced: CIDRs of subnets, addresses of pods or services, EIPs (OvnEips, and IptablesEIPs of Kube-OVN where a cluster has that kind), or prefixes of other clusters.',
      ),
    selector: labelSelector
      .default({})
      .describe(
        'Which objects of the source; all by default. With source Interconnect the RemoteClusters. The join subnet is never announced.',
      ),
    namespaceSelector: labelSelector
      .optional()
      .describe('Sources Pod and Service: only objects of namespaces with these labels.'),
    serviceAddresses: z
      .array(z.enum(['ClusterIP', 'ExternalIP', 'LoadBalancerIP']))
      .min(1)
      .max(3)
      .meta({ 'x-kubernetes-list-type': 'set' })
      .optional()
      .describe('Source Service: which of its addresses; LoadBalancerIP by default.'),
    scope: z
      .enum(['Auto', 'Cluster', 'Local'])
      .default('Auto')
      .describe(
        'Cluster: every node announces. Local: only the node of the pod, nodes with a ready endpoint of the service, or the node that has the router port of the EIP; of a subnet then the addresses of its pods. Auto: Local for pods and for services whose traffic policy is Local; for EIPs the nodes that may have the router port; otherwise Cluster. Nodes without the port announce an EIP with a MED that is higher by 100.',
      ),
    aggregation: z
      .object({
        ipv4Length: z.int().min(1).max(32).default(32),
        ipv6Length: z.int().min(1).max(128).default(128),
      })
      .optional()
      .describe(
        'Addresses are announced as the prefixes of this length that contain them, as long as one of them exists. An aggregate that contains addresses outside of the prefixes of the cluster is not announced: its addresses are announced one by one.',
      ),
    nodeSelector: labelSelector.default({}).describe('From which nodes of the instance; from all of them by default.'),
    peers: z
      .array(z.string().min(1).max(253))
      .min(1)
      .max(64)
      .optional()
      .describe('Only to these BgpPeers, of those that select this advertisement.'),
    attributes: bgpAttributes.default({}),
  })
  .meta(
    rules(
      {
        rule: "self.source == 'Service' || !has(self.serviceAddresses)",
        message: 'serviceAddresses is for source Service',
      },
      {
        rule: "self.source in ['Pod', 'Service'] || !has(self.namespaceSelector)",
        message: 'namespaceSelector is for the sources Pod and Service',
      },
      {
        rule: "self.scope != 'Local' || self.source in ['Subnet', 'Pod', 'Service', 'Eip']",
        message: 'scope Local is for the sources Subnet, Pod, Service and Eip',
      },
    ),
  );

export const bgpAdvertisementStatus = z.object({
  conditions: conditions.optional(),
  objects: z.int().describe('Objects that are announced.').optional(),
  prefixes: z
    .array(z.string())
    .describe('What is announced, from all nodes together, in the order of addresses; at most the first 100.')
    .optional(),
  prefixCount: z.int().describe('How many prefixes are announced.').optional(),
  notAnnounced: z
    .array(z.object({ object: z.string(), reason: z.string(), message: z.string() }))
    .describe('Selected objects that are not announced, and why; at most the first 20.')
    .optional(),
});

export type BgpAttributes = z.infer<typeof bgpAttributes>;
export type BgpAdvertisementSpec = z.infer<typeof bgpAdvertisementSpec>;

export const bgpAdvertisementKind: Kind = {
  ...bgpGroup,
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
    { name: 'Prefixes', type: 'integer', path: '.status.prefixCount' },
    ageColumn,
  ],
};
