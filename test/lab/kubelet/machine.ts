/**
 * The machines of nodes with kubelets: started, cut off from power, started again. In: lab and node; out: a process (box.sh) in
 * namespaces and cgroups of its own, in which containerd, kubelet and kube-proxy run. Nothing of Isthmus: that comes by the chart.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '../../../lib/kube/types.ts';
import { cgroupHierarchies, cgroupParent, makeCgroup, nodeProcesses, removeCgroups, thaw } from '../cgroups.ts';
import { type Component, killComponent, lastLines, pidOf, startComponent, stateOf } from '../component.ts';
import type { ClusterLayout, Lab, NodeLayout } from '../layout.ts';
import { addHost, deleteNamespaces, hostOf } from '../network.ts';
import { tool } from '../tools.ts';
import { nodeFiles } from './config.ts';
import { fillStore } from './image-store.ts';
import { eventually, notYet } from '../../../lib/testing-eventually.ts';

const program = join(import.meta.dirname, 'box.sh');
const registrationTimeoutMs = 90_000;

/** Makes the node's disks and files, and switches it on. @throws Error where this machine cannot */
export async function makeMachine(lab: Lab, cluster: ClusterLayout, node: NodeLayout, store: string): Promise<void> {
  mkdirSync(node.dir, { recursive: true });
  for (const [file, text] of Object.entries(nodeFiles(cluster, node))) writeFileSync(join(node.dir, file), text);
  await fillStore(store, join(node.dir, 'containerd'));
  await switchOn(lab, node);
}

/** Ends all processes of the machine at once and removes its links and addresses; its disks remain. */
export async function cutPower(lab: Lab, node: NodeLayout): Promise<void> {
  await killComponent({ dir: node.dir, name: 'machine' });
  await eventually(`the end of all processes of ${node.name}`, () => {
    thaw(cgroupParent(lab.name, node));
    const left = nodeProcesses(lab.name, node);
    return left.length === 0 || notYet(`pids ${left.join(', ')}`);
  });
  await deleteNamespaces([node.netns]);
}

/** Starts a machine that is off, with links and cgroups as new as after a power cut. */
export async function switchOn(lab: Lab, node: NodeLayout): Promise<void> {
  const hierarchies = cgroupHierarchies();
  removeCgroups(lab.name, node);
  const cgroup = cgroupParent(lab.name, node);
  for (const { name } of hierarchies) makeCgroup(name, lab.name, node);
  if (!existsSync(`/run/netns/${node.netns}`)) await addHost(lab, hostOf(node));
  const options = hierarchies.map(({ name, options: text }) => `${name}=${text}`);
  const machine: Component = {
    dir: node.dir,
    name: 'machine',
    netns: node.netns,
    argv: [program, 'start', node.dir, node.name, node.address, lab.dir, cgroup, ...options],
    env: { PATH: `${join(tool('kubelet'), '..')}:${process.env['PATH'] ?? ''}` },
  };
  await startComponent(machine);
}

/** Resolves when the kubelets have registered their nodes; sets their labels. @throws Error with the last log lines of one that has not */
export async function waitForNodes(kube: KubeClient, cluster: ClusterLayout): Promise<void> {
  await Promise.all(
    cluster.nodes.map(async (node) => {
      const path = `/api/v1/nodes/${node.name}`;
      const machine = { dir: node.dir, name: 'machine' };
      const look = async (): Promise<'dead' | 'there'> => {
        if (stateOf(machine) === 'dead') return 'dead';
        await kube.request('GET', path);
        return 'there';
      };
      const what = `the kubelet of ${cluster.name}/${node.name} to register its node`;
      const found = await eventually(what, look, registrationTimeoutMs).catch((cause: unknown) => {
        const log = lastLines({ dir: node.dir, name: 'kubelet' }, 8);
        throw new Error(`${(cause as Error).message}\nthe last lines of its kubelet's log:\n${log}`, { cause });
      });
      if (found === 'dead') throw new Error(`${cluster.name}/${node.name} does not start:\n${lastLines(machine, 15)}`);
      const patch = { metadata: { labels: node.labels } };
      await kube.request('PATCH', path, patch, { contentType: 'application/merge-patch+json' });
    }),
  );
}

/** The command line that runs a program on the node itself, with its files, processes and network. @throws Error if the node is off */
export function onMachine(node: Pick<NodeLayout, 'dir' | 'name'>, argv: readonly string[]): readonly string[] {
  const pid = pidOf({ dir: node.dir, name: 'machine' });
  if (pid === undefined) throw new Error(`node ${node.name} is switched off`);
  const first = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  const spaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup'];
  return ['nsenter', '--target', first, ...spaces, '--', ...argv];
}
