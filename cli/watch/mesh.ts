/** Reads the members of the hub in this cluster. @throws KubeApiError also where the user may not read them, CommandFailed if there is no hub */
import { hubMembers, interconnects, pods } from '../../lib/kube/resources.ts';
import { KubeApiError } from '../../lib/kube/errors.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { CommandFailed } from '../command/failure.ts';
import type { MeshReading } from '../model/mesh.ts';
import type { Cluster } from './cluster.ts';
import { parseHubMember, parseInterconnect, parseWorkload } from './objects.ts';
import { canonicalName } from './read.ts';

export interface MeshOptions extends Pick<Cluster, 'label' | 'namespace'> {
  readonly client: Pick<KubeClient, 'get' | 'list'>;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export async function readMesh({ client, label, namespace, nowMs, signal }: MeshOptions): Promise<MeshReading> {
  const raw = await client.list(hubMembers, { signal });
  if (raw.length === 0)
    throw new CommandFailed({
      code: 'NoMembers',
      message: `no cluster has joined a hub in ${label}: run this in the cluster of the hub (--context)`,
    });
  const members = raw.map((one) => ({
    ...parseHubMember(one),
    handle: one.metadata.name,
    uid: one.metadata.uid,
    isDeleting: one.metadata.deletionTimestamp !== undefined,
  }));
  return {
    label: (await ownName({ client, signal })) ?? label,
    nowMs,
    hubProblem: await hubProblem({ client, namespace, signal }),
    members: members.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** The name of this cluster among the members; undefined if it is none, or if that may not be read. */
async function ownName({ client, signal }: Pick<MeshOptions, 'client' | 'signal'>): Promise<string | undefined> {
  try {
    const { spec } = parseInterconnect(await client.get(interconnects, { name: canonicalName }, { signal }));
    return 'code' in spec ? undefined : spec.clusterName;
  } catch (error) {
    if (error instanceof KubeApiError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}

/** A hub that does not run leaves all members as connected as they were. */
async function hubProblem({
  client,
  namespace,
  signal,
}: Pick<MeshOptions, 'client' | 'namespace' | 'signal'>): Promise<string | undefined> {
  const labelSelector = 'app.kubernetes.io/name=isthmus-hub';
  try {
    const all = (await client.list(pods, { namespace, labelSelector, signal })).map(parseWorkload);
    // Without any, the hub runs elsewhere than in pods of the chart.
    if (all.length === 0 || all.some(({ isReady }) => isReady)) return undefined;
    return `no pod of the hub is ready in namespace ${namespace}: sessions are shown as they were written last`;
  } catch (error) {
    if (error instanceof KubeApiError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
