/** Opens the clusters of a command from its flags, and closes them. Called by the commands. */
import { openKube } from '../../lib/kube/client.ts';
import { openExec, type Exec } from '../../lib/kube/exec.ts';
import type { KubeClient } from '../../lib/kube/types.ts';
import { choice, text, type FlagValues } from '../../lib/run/flags.ts';
import { systemNamespace } from '../../lib/api/names.ts';
import { duration, durationMs, type Terminal } from '../command/command.ts';
import { specOf, type Snapshot } from '../model/snapshot.ts';
import { probeHub } from './hub-probe.ts';
import { findKubeconfig } from './kubeconfig.ts';
import { readSnapshot } from './read.ts';

export const clusterFlags = {
  kubeconfig: text(
    'kubeconfig file; by default KUBECONFIG, ~/.kube/config, or the service account of the pod',
    undefined,
  ),
  context: text('context of the kubeconfig; by default its current one', undefined),
  namespace: text('namespace of Isthmus (-n)', systemNamespace),
  timeout: duration('timeout for requests to a cluster, a hub or a database', '10s'),
};

export const outputFlags = {
  output: choice('output format: table, or json for programs (-o)', ['table', 'json'], 'table'),
};

export const peerFlags = {
  'peer-kubeconfig': text('kubeconfig file of the other cluster, to check both sides', undefined),
  'peer-context': text(
    'context of the other cluster, in the same kubeconfig or in that of --peer-kubeconfig',
    undefined,
  ),
};

export type ClusterFlags = FlagValues<typeof clusterFlags>;
export type PeerFlags = FlagValues<typeof peerFlags>;

export interface Cluster {
  readonly client: KubeClient;
  readonly exec: Exec;
  readonly namespace: string;
  /** Name of the context. */
  readonly label: string;
}

/** Runs `use` with a client for the cluster of the flags. @throws the errors of `use`, KubeConfigError */
export async function withCluster<T>(
  flags: ClusterFlags,
  terminal: Terminal,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const kubeconfig = await findKubeconfig(flags, terminal.env);
  const options = { kubeconfig: kubeconfig.config, userAgent: 'isthmus-cli' };
  const client = openKube(options);
  try {
    return await use({ client, exec: openExec(options), namespace: flags.namespace, label: kubeconfig.label });
  } finally {
    await client.close();
  }
}

/** Reads a snapshot of the cluster. @throws KubeUnreachable, KubeApiError, KubeConfigError, or the timeout's TimeoutError */
export async function readCluster(cluster: Cluster, flags: ClusterFlags, terminal: Terminal): Promise<Snapshot> {
  const late = AbortSignal.timeout(durationMs(flags.timeout));
  return await readSnapshot({
    client: cluster.client,
    namespace: cluster.namespace,
    fallbackLabel: cluster.label,
    nowMs: terminal.now(),
    signal: AbortSignal.any([terminal.signal, late]),
  });
}

export function readNear(flags: ClusterFlags, terminal: Terminal): Promise<Snapshot> {
  return withCluster(flags, terminal, (cluster) => readCluster(cluster, flags, terminal));
}

/** Reads the other cluster, if a flag names one. */
export async function readFar(flags: ClusterFlags & PeerFlags, terminal: Terminal): Promise<Snapshot | undefined> {
  const { peerKubeconfig, peerContext } = flags;
  if (peerKubeconfig === undefined && peerContext === undefined) return undefined;
  const theirs = { ...flags, kubeconfig: peerKubeconfig ?? flags.kubeconfig, context: peerContext };
  return await readNear(theirs, terminal);
}

/** Adds to the snapshot the result of a connection to its hub. */
export async function withProbe(snapshot: Snapshot, timeoutMs: number): Promise<Snapshot> {
  const hub = specOf(snapshot)?.hub;
  return hub === undefined ? snapshot : { ...snapshot, probe: await probeHub(hub, timeoutMs) };
}
