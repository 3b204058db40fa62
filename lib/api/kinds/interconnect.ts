import { z } from 'zod';
import {
  ageColumn,
  conditionColumn,
  conditions,
  labelSelector,
  mapList,
  reasonColumn,
  rules,
  type Kind,
} from './shared.ts';

/** Whether tunnels between gateways of two clusters are encrypted. */
export const encryptionMode = z.enum(['off', 'preferred', 'required']);

const encryption = z.object({
  mode: encryptionMode
    .default('off')
    .describe(
      'Whether tunnels to gateways of other clusters are encrypted by WireGuard. Of the two clusters, the stricter decides: `required` before `preferred` before `off`. `preferred`: between gateways that both have WireGuard. `required`: nothing is ever sent in the clear; a gateway without WireGuard gets no tunnel.',
    ),
  clusters: z
    .array(z.object({ name: z.string().min(1).max(40).describe('Name of the other cluster.'), mode: encryptionMode }))
    .max(1000)
    .default([])
    .meta(mapList('name'))
    .describe('Other modes for some clusters.'),
  keyRotation: z
    .object({
      intervalHours: z
        .int()
        .min(0)
        .max(87_600)
        .default(720)
        .describe('Age at which the key of a gateway is replaced; 0: only when `isthmus ic rotate-keys` asks for it.'),
      maxWaitHours: z
        .int()
        .min(0)
        .max(8760)
        .default(24)
        .describe(
          'How long a gateway keeps its old key for clusters that do not accept the new one yet, such as one that is not connected to the hub. Tunnels to these are interrupted afterwards, until they know the new key.',
        ),
    })
    .default({ intervalHours: 720, maxWaitHours: 24 })
    .describe('How the keys of the gateways of this cluster are replaced.'),
});

/** This cluster's membership. One object, named `default`; the chart makes it from `interconnect.hub` and `interconnect.token`. */
export const interconnectSpec = z.object({
  clusterName: z
    .string()
    .min(1)
    .max(40)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
    .describe(
      'Name of this cluster among the members; the OVN availability zone. Unique at the hub. Another name, with a join token for it, renames a member without loss of traffic.',
    ),
  hub: z
    .string()
    .min(1)
    .max(300)
    .describe('`host:port` of the hub.')
    .meta(
      rules({
        rule: "self.matches(r'^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\\[[0-9a-fA-F:]+\\]):[1-9][0-9]{0,4}$')",
        message: 'hub must be host:port, such as 192.0.2.10:6650',
      }),
    ),
  tokenSecretRef: z
    .object({ name: z.string().min(1), key: z.string().default('token') })
    .describe('Secret in the namespace of Isthmus with the join token; needed to join and to be renamed.'),
  vpc: z.string().default('ovn-cluster').describe('The VPC that is joined.'),
  gatewayNodeSelector: labelSelector
    .default({ matchLabels: { 'ovn.kubernetes.io/ic-gw': 'true' } })
    .describe('Nodes that carry the traffic between clusters.'),
  failback: z
    .object({
      holdDownSeconds: z
        .int()
        .min(0)
        .max(3600)
        .default(5)
        .describe('How long a path must have been up before traffic returns to it.'),
    })
    .default({ holdDownSeconds: 5 }),
  clusterSetCIDR: z
    .string()
    .max(100)
    .regex(/^[0-9a-fA-F.:/]+(, ?[0-9a-fA-F.:/]+)?$/)
    .default('100.127.0.0/16,fd00:100:127::/112')
    .describe(
      'Networks of the addresses of imported Services, one for each family, separated by a comma. Nothing else in this cluster may use them; other clusters may have the same ones.',
    ),
  ciliumAnnotations: z
    .boolean()
    .default(true)
    .describe(
      "Whether the annotations global, shared and affinity of service.cilium.io are read. `global: 'true'` exports a Service like a ServiceExport of its name: authors of Services may then export them.",
    ),
  sharePods: z
    .object({
      enabled: z
        .boolean()
        .default(true)
        .describe('Whether other clusters are sent the addresses of pods that they ask for.'),
      namespaceSelector: labelSelector.default({}).describe('Only pods of namespaces with these labels are sent.'),
    })
    .default({ enabled: true, namespaceSelector: {} })
    .describe(
      'Addresses of pods of this cluster that policies of other clusters name with `isthmus.network/cluster`. No labels are sent.',
    ),
  encryption: encryption.default({
    mode: 'off',
    clusters: [],
    keyRotation: { intervalHours: 720, maxWaitHours: 24 },
  }),
  mtu: z
    .int()
    .min(0)
    .max(65535)
    .default(0)
    .describe(
      'IP packet size that paths between gateways must carry without fragmentation, in bytes. 0 is 1500: pods have the MTU of the underlay less what a tunnel takes, so that packets as large as the underlay carries must pass.',
    ),
});

export const interconnectStatus = z.object({
  conditions: conditions.optional(),
  gateways: z
    .array(z.object({ node: z.string(), chassis: z.string(), address: z.string() }))
    .meta(mapList('node'))
    .optional(),
  remoteClusters: z.int().optional(),
  routesAdvertised: z.int().optional(),
  routesLearned: z.int().optional(),
  routesRejected: z.int().optional(),
});

export type InterconnectSpec = z.infer<typeof interconnectSpec>;
export type InterconnectStatus = z.infer<typeof interconnectStatus>;

export const interconnectKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'Interconnect',
  plural: 'interconnects',
  singular: 'interconnect',
  shortNames: ['ic'],
  scope: 'Cluster',
  spec: interconnectSpec,
  status: interconnectStatus,
  hasStatusSubresource: true,
  description: 'Membership of this cluster in a network of clusters. One object, named `default`; deleting it leaves.',
  columns: [
    { name: 'Cluster', type: 'string', path: '.spec.clusterName' },
    { name: 'Hub', type: 'string', path: '.spec.hub' },
    conditionColumn('Ready'),
    reasonColumn(),
    { name: 'Remotes', type: 'integer', path: '.status.remoteClusters' },
    { name: 'Learned', type: 'integer', path: '.status.routesLearned' },
    { name: 'Advertised', type: 'integer', path: '.status.routesAdvertised', priority: 1 },
    { name: 'Rejected', type: 'integer', path: '.status.routesRejected', priority: 1 },
    ageColumn,
  ],
  rules: [{ rule: "self.metadata.name == 'default'", message: 'a cluster has one Interconnect, named default' }],
};
