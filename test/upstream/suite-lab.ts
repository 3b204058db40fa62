/** What suites of upstream projects need of a lab of kubelets: Isthmus installed, their images on the nodes, a way from the API server to pods. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { namespace, type User } from '../cluster/user.ts';
import { archiveFolder } from '../lab/kubelet/image-store.ts';
import { onMachine } from '../lab/kubelet/machine.ts';
import type { ClusterLayout } from '../lab/layout.ts';
import { managementAddress } from '../lab/network.ts';
import { run } from '../lab/run.ts';

/** An image of this folder, and the names of a suite's images that it stands for. */
export type ImageNames = readonly [image: string, names: readonly string[]];

export async function install(user: User, cluster: string, values: readonly string[]): Promise<void> {
  const found = await user.tryRun(cluster, ['helm', 'status', 'isthmus', '-n', namespace]);
  if (found.code === 0) return;
  const sinceMs = performance.now();
  await user.install(cluster, values);
  await user.untilReady(cluster);
  console.log(`installed, all nodes Ready ${((performance.now() - sinceMs) / 1000).toFixed(1)} s after the command`);
}

export async function giveImages({ nodes }: ClusterLayout, images: readonly ImageNames[]): Promise<void> {
  for (const node of nodes) {
    const ctr = (...argv: string[]): Promise<string> =>
      run(onMachine(node, ['ctr', '--namespace', 'k8s.io', 'images', ...argv]), { timeoutMs: 300_000 });
    for (const [image, names] of images) {
      await ctr('import', join(archiveFolder(), `${image}-lab.tar`));
      for (const name of names) await ctr('tag', '--force', `docker.io/library/${image}:lab`, name);
    }
  }
}

/** The API server is beside the nodes, not on one of them, and proxies to pods. */
export async function routeToPods({ netns, podCidr, nodes }: ClusterLayout): Promise<void> {
  await run(['ip', '-n', netns, 'route', 'replace', podCidr, 'via', nodes[0]?.address ?? '']);
}

/** The kubeconfig of the lab names an address outside its namespaces. */
export function kubeconfigInside(cluster: ClusterLayout): string {
  const outside = readFileSync(join(cluster.dir, 'kubeconfig'), 'utf8');
  const path = join(cluster.dir, 'kubeconfig-inside');
  const inside = outside.replace(/https:\/\/127\.0\.0\.1:\d+/, `https://${managementAddress(cluster)}:6443`);
  writeFileSync(path, inside, { mode: 0o600 });
  return path;
}
