/**
 * `make test-conformance`: Kubernetes' own tests of networks (e2e.test), run in a cluster of machines where Isthmus was installed by `helm install`.
 * In: LAB and TOPOLOGY from the environment, FOCUS and SKIP as ginkgo takes them. Ends with ginkgo's exit code; leaves the lab up.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { namespace, User } from '../cluster/user.ts';
import { interruptible } from '../lab/interrupt.ts';
import { archiveFolder } from '../lab/kubelet/image-store.ts';
import { onMachine } from '../lab/kubelet/machine.ts';
import { type ClusterLayout, labName } from '../lab/layout.ts';
import { openLab } from '../lab/lib/lab.ts';
import { upFromEnvironment } from '../lab/main.ts';
import { run } from '../lab/run.ts';
import { tool } from '../lab/tools.ts';

/** What a network has to pass to be called conformant. */
const focus = process.env['FOCUS'] || String.raw`\[sig-network\].*\[Conformance\]`;
const skip = process.env['SKIP'] ?? '';
/** Those of the images which the tests name that `agnhost/Dockerfile` is made for. */
const likeAgnhost = /^registry\.k8s\.io\/(?:e2e-test-images\/(?:agnhost|busybox|jessie-dnsutils)|pause):/;

async function judge(): Promise<void> {
  await upFromEnvironment();
  const user = new User(openLab());
  for (const cluster of user.lab.layout.clusters) {
    await install(user, cluster.name);
    await Promise.all([giveImages(cluster), routeToPods(cluster)]);
    await user.untilRolledOut(cluster.name, 'deployment/coredns');
    runTests(cluster);
  }
}

async function install(user: User, cluster: string): Promise<void> {
  const found = await user.tryRun(cluster, ['helm', 'status', 'isthmus', '-n', namespace]);
  if (found.code === 0) return;
  const sinceMs = performance.now();
  await user.install(cluster);
  await user.untilReady(cluster);
  console.log(`installed, all nodes Ready ${((performance.now() - sinceMs) / 1000).toFixed(1)} s after the command`);
}

async function giveImages({ nodes }: ClusterLayout): Promise<void> {
  const archive = join(archiveFolder(), 'agnhost-lab.tar');
  const listed = await run([tool('e2e.test'), '--list-images']);
  const names = listed.split('\n').filter((name) => likeAgnhost.test(name));
  for (const node of nodes) {
    const ctr = (...argv: string[]): Promise<string> =>
      run(onMachine(node, ['ctr', '--namespace', 'k8s.io', 'images', ...argv]), { timeoutMs: 300_000 });
    await ctr('import', archive);
    for (const name of names) await ctr('tag', '--force', 'docker.io/library/agnhost:lab', name);
  }
}

/** The API server is beside the nodes, not on one of them, and proxies to pods. */
async function routeToPods({ netns, podCidr, nodes }: ClusterLayout): Promise<void> {
  await run(['ip', '-n', netns, 'route', 'replace', podCidr, 'via', nodes[0]?.address ?? '']);
}

function runTests({ dir, nodes }: ClusterLayout): void {
  const chosen = [`--focus=${focus}`, ...(skip === '' ? [] : [`--skip=${skip}`])];
  const report = [`--output-dir=${dir}`, '--json-report=conformance.json'];
  const suite = ['--provider=skeleton', `--num-nodes=${nodes.length}`, `--kubectl-path=${tool('kubectl')}`];
  const kubeconfig = `--kubeconfig=${join(dir, 'kubeconfig')}`;
  const flags = ['--procs=4', '--no-color', '--timeout=2h', ...chosen, ...report];
  const argv = [...flags, tool('e2e.test'), '--', ...suite, kubeconfig];
  const { status, error } = spawnSync(tool('ginkgo'), argv, { stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`ginkgo ended with ${status}; its report: ${join(dir, 'conformance.json')}`);
}

if (import.meta.main)
  interruptible(labName(), judge).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
