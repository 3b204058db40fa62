import { z } from 'zod';
import { encryptionMode } from './interconnect.ts';
import { ageColumn, conditions, dateTime, mapList, type Kind } from './shared.ts';

/** Between one gateway of this cluster and the gateway that holds the other cluster's port of the same path. */
export const remotePath = z.object({
  transitSwitch: z.string(),
  path: z.int().describe('Index of the path within the transit switch.'),
  localGateway: z.string().describe('Chassis; empty while none holds the port.').optional(),
  remoteGateway: z.string().optional(),
  state: z
    .enum(['Up', 'HoldDown', 'Draining', 'Moving', 'Down', 'Unknown'])
    .describe(
      'Unknown: not measured at present. HoldDown: recovered, but not long enough ago to carry traffic while other paths do. Moving: it moves to another gateway.',
    ),
  reason: z.string().describe('Why it is not Up: a code.').optional(),
  message: z.string().describe('The same in a sentence, with the remedy.').optional(),
  bfd: z.string().describe('State of the tunnel at the local gateway: up, down, init, or unknown.').optional(),
  rttMs: z
    .number()
    .describe(
      'Round-trip time between the two gateways in milliseconds. It changes when a measurement differs by more than 30 % and a millisecond.',
    )
    .optional(),
  lossPercent: z.number().optional(),
  mtu: z
    .int()
    .describe('Largest IP packet that passed without fragmentation, in bytes; 0 if not even the smallest did.')
    .optional(),
  flaps: z.int().optional(),
  since: dateTime.optional(),
});

export const unlistedPrefixes = z.object({
  transitSwitch: z.string(),
  count: z.int(),
  within: z.array(z.string()).describe('Networks that hold all of them.'),
});

/** One per peer cluster, written by the agent. */
export const remoteClusterStatus = z.object({
  phase: z.enum(['Joining', 'Ready', 'Degraded', 'Stale', 'Conflicted', 'Unreachable']).optional(),
  conditions: conditions.optional(),
  foreign: z
    .boolean()
    .describe('The cluster runs plain ovn-ic: one path, no BFD, and only its rows show whether it is alive.')
    .optional(),
  handle: z
    .string()
    .describe('Its name when it joined, which its rows in OVN have; absent if it still has that name.')
    .optional(),
  lastSeen: dateTime.optional(),
  encryption: encryptionMode
    .describe('Whether tunnels to it are to be encrypted: the stricter mode of the two clusters.')
    .optional(),
  gateways: z
    .array(
      z.object({
        chassis: z.string(),
        hostname: z.string().optional(),
        address: z.string(),
        encrypted: z.boolean().describe('Whether tunnels to it are encrypted.').optional(),
        endpoints: z
          .array(z.string())
          .describe('Where its WireGuard is reached: `address:port`; absent if tunnels to it are not encrypted.')
          .optional(),
      }),
    )
    .optional(),
  paths: z.array(remotePath).meta(mapList('transitSwitch', 'path')).optional(),
  rttMs: z
    .number()
    .describe(
      'Round-trip time between gateways in milliseconds by which `isthmus.network/affinity: nearest` orders clusters. It changes when three measurements in a row differ by more than 30 % and a millisecond.',
    )
    .optional(),
  pathsUp: z.string().describe('Paths that carry traffic, of all: `2/2`.').optional(),
  routes: z
    .array(
      z.object({
        prefix: z.string(),
        transitSwitch: z.string(),
        nextHop: z.string(),
        state: z.enum(['Active', 'Backup', 'Rejected']),
        reason: z
          .string()
          .describe(
            'Why it is not Active: Overlap, Denied, MaxPrefixes, NextHopDown, NotPreferred, Loop, PrefixInvalid, NoGateway …',
          )
          .optional(),
        message: z.string().optional(),
        origin: z.string().optional(),
        tags: z.array(z.string()).optional(),
      }),
    )
    .describe(
      'A sample for readers, one for each next hop: of the first 100 prefixes, those that are rejected before backups, and these before others. All prefixes are in RemoteRouteSlices, which programs read.',
    )
    .optional(),
  unlisted: z
    .array(unlistedPrefixes)
    .describe(
      'Prefixes beyond the 10,000 that slices hold. Pods reach them; they are not announced to routers, and no new Subnet may overlap the networks that hold them.',
    )
    .optional(),
  routesActive: z.int().optional(),
  routesBackup: z.int().optional(),
  routesRejected: z.int().optional(),
});

export type RemotePathStatus = z.infer<typeof remotePath>;
export type RemoteClusterStatus = z.infer<typeof remoteClusterStatus>;

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
  description: 'Another member, the paths to it and the routes it offers; written by the agent.',
  columns: [
    { name: 'Phase', type: 'string', path: '.status.phase' },
    { name: 'Paths', type: 'string', path: '.status.pathsUp' },
    { name: 'Active', type: 'integer', path: '.status.routesActive' },
    { name: 'Rejected', type: 'integer', path: '.status.routesRejected' },
    { name: 'LastSeen', type: 'date', path: '.status.lastSeen' },
    { name: 'Foreign', type: 'boolean', path: '.status.foreign' },
    { name: 'Gateways', type: 'string', path: '.status.gateways[*].address', priority: 1 },
    ageColumn,
  ],
};
