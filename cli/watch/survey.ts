/** Reads what is known of a cluster before it joins, or of a member. In: a client. Out: Surveyed. @throws as readSnapshot and readFacts do */
import { KubeApiError } from '../../lib/kube/errors.ts';
import { leases } from '../../lib/kube/resources.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { durationMs, type Terminal } from '../command/command.ts';
import type { Surveyed } from '../model/join-question.ts';
import { timeOf } from '../model/units.ts';
import { readCluster, type Cluster, type ClusterFlags } from './cluster.ts';
import { readFacts } from './facts.ts';

export async function survey(cluster: Cluster, flags: ClusterFlags, terminal: Terminal): Promise<Surveyed> {
  const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(durationMs(flags.timeout))]);
  const { client, namespace, label } = cluster;
  const [snapshot, facts, heartbeatMs] = await Promise.all([
    readCluster(cluster, flags, terminal),
    readFacts({ client, namespace, label, signal }),
    lastHeartbeat(client, signal),
  ]);
  return { snapshot, facts, heartbeatMs, readMs: terminal.now() };
}

async function lastHeartbeat(client: Pick<KubeClient, 'list'>, signal: AbortSignal): Promise<number | undefined> {
  try {
    const all = await client.list(leases, { namespace: 'kube-node-lease', signal });
    const times = all.flatMap(({ spec }) => timeOf((spec as { renewTime?: string } | undefined)?.renewTime) ?? []);
    return times.length === 0 ? undefined : Math.max(...times);
  } catch (error) {
    if (error instanceof KubeApiError && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
