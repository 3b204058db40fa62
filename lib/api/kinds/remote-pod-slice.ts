import { z } from 'zod';
import { ageColumn, mapList, type Kind } from './shared.ts';

/** A change of one address writes one slice anew, and the controller reads that slice again. */
export const mostPodsInSlice = 500;

/** An address in a set, or with empty `vpc` and `address` the state of the set itself. */
export const remotePod = z.object({
  set: z
    .string()
    .max(40)
    .describe('The set: the digest of a selector that policies of this cluster have for pods of other clusters.'),
  vpc: z
    .string()
    .max(63)
    .describe('The VPC in which the address is that of the other cluster; empty for the set itself.'),
  address: z.string().max(39).describe('Address of a pod; empty for the set itself.'),
  since: z
    .string()
    .max(40)
    .describe('Of a set: when the hub lost contact with the cluster, whose addresses are those of that time.')
    .optional(),
  reason: z.string().max(63).describe('Of a set: why the cluster does not send it.').optional(),
});

export type RemotePod = z.infer<typeof remotePod>;

export const remotePodSliceKind: Kind = {
  group: 'isthmus.network',
  version: 'v1alpha1',
  kind: 'RemotePodSlice',
  plural: 'remotepodslices',
  singular: 'remotepodslice',
  shortNames: [],
  scope: 'Cluster',
  data: z.object({
    pods: z
      .array(remotePod)
      .max(mostPodsInSlice)
      .meta(mapList('set', 'vpc', 'address'))
      .describe('The addresses of pods of a cluster that policies of this cluster name.'),
  }),
  hasStatusSubresource: false,
  description:
    'A part of the addresses of pods of a RemoteCluster, its owner, that policies of this cluster name, for the controller to act on; written by the agent. The label `isthmus.network/remote-cluster` names the cluster.',
  columns: [
    { name: 'Cluster', type: 'string', path: String.raw`.metadata.labels.isthmus\.network/remote-cluster` },
    ageColumn,
  ],
};
