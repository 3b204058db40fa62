/** Pods of nodes with kubelets, as tests and demo look into them: each network namespace under the name that `podNetns` gives. */
import { existsSync } from 'node:fs';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { podProcess } from '../cgroups.ts';
import { type ClusterLayout, type Lab, podNetns } from '../layout.ts';
import { run } from '../run.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName?: string };
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

/** Waits until all pods of a namespace are Ready, and names their network namespaces anew. @throws Error that names those that are not */
export async function namePods(
  lab: Lab,
  cluster: ClusterLayout,
  kube: KubeClient,
  { namespace, timeoutMs = 60_000 }: { readonly namespace: string; readonly timeoutMs?: number },
): Promise<void> {
  const list = async (): Promise<Pods> => (await kube.request('GET', `/api/v1/namespaces/${namespace}/pods`)) as Pods;
  const isReady = (pod: Pods['items'][number]): boolean =>
    pod.metadata.deletionTimestamp === undefined &&
    (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false);
  await eventually(
    `the pods of ${cluster.name}/${namespace}`,
    async () => {
      const waiting = (await list()).items.filter((pod) => !isReady(pod)).map(({ metadata }) => metadata.name);
      return waiting.length === 0 || notYet(`${waiting.join(', ')} not Ready`);
    },
    timeoutMs,
  );
  for (const { metadata, spec } of (await list()).items) {
    const node = cluster.nodes.find(({ name }) => name === spec.nodeName);
    const pid = node && podProcess(lab.name, node, metadata.uid);
    if (pid === undefined) throw new Error(`${cluster.name}/${namespace}/${metadata.name} has no process here`);
    const name = podNetns(lab, cluster.name, namespace, metadata.name);
    if (existsSync(`/run/netns/${name}`)) await run(['ip', 'netns', 'del', name]);
    await run(['ip', 'netns', 'attach', name, String(pid)]);
  }
}
