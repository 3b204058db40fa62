import { z } from 'zod';
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

/** This cluster's membership. One object, named `default`; the chart makes it from `interconnect.hub` and `interconnect.token`. */
export const interconnectSpec = z.object({
  clusterName: z
    .string()
    .min(1)
    .max(40)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
    .describe(
      'Name of this cluster among the members; the OVN availability zone. Unique at the hub, fixed once joined.',
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
    .describe('Secret in the namespace of Isthmus with the join token; needed for the first join only.'),
  vpc: z.string().default('ovn-cluster').describe('The VPC that is joined.'),
  gatewayNodeSelector: labelSelector
    .default({ matchLabels: { 'ovn.kubernetes.io/ic-gw': 'true' } })
    .describe('Nodes that carry the traffic between clusters.'),
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

/** One per peer cluster, written by the agent. */
export const remoteClusterStatus = z.object({
  phase: z.enum(['Joining', 'Ready', 'Stale', 'Conflicted']).optional(),
  conditions: conditions.optional(),
  lastSeen: dateTime.optional(),
  gateways: z.array(z.object({ chassis: z.string(), hostname: z.string().optional(), address: z.string() })).optional(),
  routes: z
    .array(
      z.object({
        prefix: z.string(),
        transitSwitch: z.string(),
        nextHop: z.string(),
        state: z.enum(['Active', 'Rejected']),
        reason: z.string().optional(),
      }),
    )
    .optional(),
  routesActive: z.int().optional(),
  routesRejected: z.int().optional(),
});

/** A switch that spans clusters, as the hub made it; written by the agent in every member. */
export const transitSwitchStatus = z.object({
  conditions: conditions.optional(),
  cidr: z.string().optional(),
  tunnelKey: z.int().optional(),
  vpc: z.string().optional(),
  localAddress: z.string().optional(),
  activeGateway: z.string().optional(),
  clusters: z
    .array(z.object({ name: z.string(), address: z.string() }))
    .meta(mapList('name'))
    .optional(),
});

export type InterconnectSpec = z.infer<typeof interconnectSpec>;
export type InterconnectStatus = z.infer<typeof interconnectStatus>;
export type RemoteClusterStatus = z.infer<typeof remoteClusterStatus>;
export type TransitSwitchStatus = z.infer<typeof transitSwitchStatus>;

const joined =
  "has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c, c.type == 'Joined' && c.status == 'True')";

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
    { name: 'Remotes', type: 'integer', path: '.status.remoteClusters' },
    { name: 'Learned', type: 'integer', path: '.status.routesLearned' },
    { name: 'Advertised', type: 'integer', path: '.status.routesAdvertised', priority: 1 },
    { name: 'Rejected', type: 'integer', path: '.status.routesRejected', priority: 1 },
    ageColumn,
  ],
  rules: [
    { rule: "self.metadata.name == 'default'", message: 'a cluster has one Interconnect, named default' },
    {
      rule: `!(${joined}) || self.spec.clusterName == oldSelf.spec.clusterName`,
      message: 'clusterName is fixed once joined; delete the Interconnect to leave, then join by the other name',
    },
  ],
};

export const remoteClusterKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'RemoteCluster',
  plural: 'remoteclusters',
  singular: 'remotecluster',
  shortNames: [],
  scope: 'Cluster',
  status: remoteClusterStatus,
  hasStatusSubresource: true,
  description: 'Another member and the routes it offers; written by the agent.',
  columns: [
    { name: 'Phase', type: 'string', path: '.status.phase' },
    { name: 'Active', type: 'integer', path: '.status.routesActive' },
    { name: 'Rejected', type: 'integer', path: '.status.routesRejected' },
    { name: 'LastSeen', type: 'date', path: '.status.lastSeen' },
    { name: 'Gateways', type: 'string', path: '.status.gateways[*].address', priority: 1 },
    ageColumn,
  ],
};

export const transitSwitchKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'TransitSwitch',
  plural: 'transitswitches',
  singular: 'transitswitch',
  shortNames: ['ts'],
  scope: 'Cluster',
  status: transitSwitchStatus,
  hasStatusSubresource: true,
  description: 'A switch that spans the member clusters, as the hub made it; written by the agent.',
  columns: [
    { name: 'CIDR', type: 'string', path: '.status.cidr' },
    { name: 'Address', type: 'string', path: '.status.localAddress' },
    { name: 'Gateway', type: 'string', path: '.status.activeGateway' },
    conditionColumn('Ready'),
    ageColumn,
  ],
};
